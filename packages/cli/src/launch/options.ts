import { availableParallelism } from 'node:os';
import { AccError, checkKeys } from '@acc/contract';

export interface LaunchOptions {
  /** The program: a TypeScript or JavaScript file. */
  readonly script: string;
  /** The program's own arguments. Default none. */
  readonly args?: readonly string[];
  /** Ranks on this host; `auto` is one a core. The same on every host. Default 1. */
  readonly nproc?: number | 'auto';
  /** Hosts of the job. Default 1. */
  readonly nnodes?: number;
  /** This host's place among the hosts, from 0. Needed with several hosts. */
  readonly nodeRank?: number;
  /** `host` or `host:port` where rank 0 listens. Needed with several hosts; the port is 29500 unless given. */
  readonly rdzvEndpoint?: string;
  /** Threads of each rank. Default OMP_NUM_THREADS, else cores / ranks on this host. */
  readonly threads?: number;
  /** Whether lines are marked with their rank. Default true; one rank alone is never marked. */
  readonly prefix?: boolean;
}

/** A host and a port; port 0 is any free one. */
export interface Endpoint {
  readonly host: string;
  readonly port: number;
}

/** Complete and checked. */
export interface LaunchPlan {
  readonly script: string;
  readonly args: readonly string[];
  readonly nproc: number;
  readonly nnodes: number;
  readonly nodeRank: number;
  /** Undefined: one host, and nobody asked for a particular place. */
  readonly endpoint: Endpoint | undefined;
  readonly threads: number | undefined;
  readonly prefix: boolean;
}

/** torchrun's. */
const DEFAULT_PORT = 29500;

const KEYS = ['script', 'args', 'nproc', 'nnodes', 'nodeRank', 'rdzvEndpoint', 'threads', 'prefix'];

/**
 * Fills in what was left out.
 *
 * @throws AccError `ACC_UNKNOWN_OPTION`; `ACC_BAD_OPTION` for a value that can't be; `ACC_MISSING_OPTION` for one
 * that several hosts need.
 */
export function completeOptions(options: LaunchOptions): LaunchPlan {
  checkKeys('launch', options, KEYS);
  const { script, args = [], nnodes = 1, rdzvEndpoint, threads, prefix = true } = options;
  const nproc = options.nproc === 'auto' ? availableParallelism() : (options.nproc ?? 1);
  requireWhole('-n', nproc, 1);
  requireWhole('--nnodes', nnodes, 1);
  if (threads !== undefined) requireWhole('--threads', threads, 1);
  if (nnodes > 1) requireSeveralHosts(options);
  const nodeRank = options.nodeRank ?? 0;
  requireWhole('--node-rank', nodeRank, 0, nnodes - 1);
  const endpoint = rdzvEndpoint === undefined ? undefined : parseEndpoint(rdzvEndpoint);
  if (nnodes > 1 && endpoint?.port === 0) {
    throw badOption('--rdzv-endpoint', rdzvEndpoint, 'a port that every host knows, not 0');
  }
  return { script, args, nproc, nnodes, nodeRank, endpoint, threads, prefix };
}

function requireSeveralHosts({ nodeRank, rdzvEndpoint }: LaunchOptions): void {
  const missing = nodeRank === undefined ? '--node-rank' : rdzvEndpoint === undefined && '--rdzv-endpoint';
  if (!missing) return;
  throw new AccError('ACC_MISSING_OPTION', `Several hosts need ${missing}.`, {
    help: 'Start on every host: acc launch --nnodes A --node-rank R --rdzv-endpoint HOST:PORT …, where HOST is the host of node rank 0.',
    details: { option: missing },
  });
}

/** `host`, `host:port`, `[address]` or `[address]:port`. */
export function parseEndpoint(text: string): Endpoint {
  const [, bracketed, plain, digits] = /^(?:\[([^\]]+)\]|([^:[\]]+))(?::(\d+))?$/.exec(text) ?? [];
  const host = bracketed ?? plain;
  const port = digits === undefined ? DEFAULT_PORT : Number(digits);
  if (host === undefined || port > 65_535) {
    throw badOption('--rdzv-endpoint', text, 'HOST or HOST:PORT, with an IPv6 address in brackets');
  }
  return { host, port };
}

/** @throws AccError `ACC_BAD_OPTION`. */
export function requireWhole(option: string, value: number, from: number, to = Infinity): void {
  if (Number.isInteger(value) && value >= from && value <= to) return;
  throw badOption(option, value, `a whole number from ${from}${to === Infinity ? '' : ` to ${to}`}`);
}

export function badOption(option: string, value: unknown, expected: string): AccError {
  return new AccError('ACC_BAD_OPTION', `${option} must be ${expected}, not '${String(value)}'.`, {
    help: 'acc launch --help lists the options.',
    details: { option, value },
  });
}
