import { availableParallelism } from 'node:os';
import { resolve } from 'node:path';
import { AccError, checkKeys } from '@acc/contract';
import { LAUNCH_OPTIONS, withDefaults, type CompleteOptions, type OptionsOf } from '@acc/config';
import type { CpuBind } from './cpus/binding.js';
import { badOption, checkValues, requireInteger } from './check-values.js';

/** The options of `launch`. @acc/config has those that are also flags of `acc launch`. */
export interface LaunchOptions extends OptionsOf<typeof LAUNCH_OPTIONS> {
  /** The program: a TypeScript or JavaScript file. */
  readonly script: string;
  /** The arguments of the program. Default: none. */
  readonly args?: readonly string[];
  /**
   * Variables of the ranks, besides those of this process, and in place of them. Those that the
   * launcher must set, such as RANK, cannot be given. Default none.
   */
  readonly env?: Readonly<Record<string, string>>;
}

type Complete = CompleteOptions<typeof LAUNCH_OPTIONS>;

/** A host and a port. Port 0 means any free port. */
export interface Endpoint {
  readonly host: string;
  readonly port: number;
}

/** The address of etcd and the name of the job. */
export interface EtcdRendezvous extends Endpoint {
  readonly id: string;
}

/** The complete and validated options. */
export interface LaunchPlan {
  readonly script: string;
  readonly args: readonly string[];
  readonly nproc: number;
  /** The number of hosts. With a range, the most. */
  readonly nnodes: number;
  /** The fewest hosts, if the job is elastic. */
  readonly minNodes: number | undefined;
  readonly lastCallMs: number;
  readonly hostTimeoutMs: number;
  /** Undefined: etcd assigns one. */
  readonly nodeRank: number | undefined;
  /**
   * The address of rank 0. Undefined if etcd provides it, or with one host if no address was given.
   */
  readonly endpoint: Endpoint | undefined;
  /** Undefined: the options are complete. */
  readonly rendezvous: EtcdRendezvous | undefined;
  readonly networkInterface: string | undefined;
  readonly threads: number | undefined;
  /** Whether the host starts as many ranks as asked for, however few its cores are. */
  readonly oversubscribe: boolean;
  readonly maxRestarts: number;
  readonly graceMs: number;
  readonly prefix: boolean;
  readonly cpuBind: CpuBind;
  readonly logs: LogPlan | undefined;
  readonly dryRun: boolean;
  readonly env: Readonly<Record<string, string>>;
}

/** Where the output of ranks is written. */
export interface LogPlan {
  /** The absolute path of the folder. */
  readonly folder: string;
  /** The ranks whose output is shown, too. */
  readonly tee: 'all' | readonly number[];
}

/** The default port of torchrun. */
export const DEFAULT_PORT = 29500;
const ETCD_PORT = 2379;

const KEYS = ['script', 'args', 'env', ...Object.keys(LAUNCH_OPTIONS)];

/**
 * Fills in defaults and validates options.
 *
 * @throws AccError `ACC_UNKNOWN_OPTION`; `ACC_BAD_OPTION` for an invalid value;
 * `ACC_MISSING_OPTION` if an option that several hosts need is missing.
 */
export function completeOptions(options: LaunchOptions): LaunchPlan {
  checkKeys('launch', options, KEYS);
  checkValues(LAUNCH_OPTIONS, options);
  const complete = withDefaults(LAUNCH_OPTIONS, options);
  const common = commonPlan(options, complete);
  const { rdzvBackend } = complete;
  if (common.minNodes !== undefined) return elasticPlan(complete, common);
  if (options.lastCall !== undefined) {
    throw badOption('--last-call', options.lastCall, 'used with a range of hosts only: --nnodes A:B');
  }
  if (options.hostTimeout !== undefined && rdzvBackend !== 'etcd') {
    throw badOption('--host-timeout', options.hostTimeout, 'used with a range of hosts or with etcd only');
  }
  if (rdzvBackend === 'etcd') {
    if (common.dryRun) throw badOption('--dry-run', 'etcd', 'used without etcd, which assigns the ranks');
    const { nodeRank } = complete;
    return { ...common, nodeRank, endpoint: undefined, rendezvous: etcdRendezvous(complete) };
  }
  return {
    ...common,
    nodeRank: options.nodeRank ?? 0,
    endpoint: fixedEndpoint(complete, common.nnodes),
    rendezvous: undefined,
  };
}

type CommonPlan = Omit<LaunchPlan, 'nodeRank' | 'endpoint' | 'rendezvous'>;

/** The plan of a job whose hosts come and go. */
function elasticPlan(options: Complete, common: CommonPlan): LaunchPlan {
  const { rdzvBackend, rdzvId, nodeRank, rdzvEndpoint, nnodes } = options;
  const range = `left out with --nnodes ${nnodes}`;
  if (rdzvBackend !== 'c10d') throw badOption('--rdzv-backend', rdzvBackend, `c10d with --nnodes ${nnodes}`);
  if (rdzvId !== undefined) throw badOption('--rdzv-id', rdzvId, range);
  if (nodeRank !== undefined)
    throw badOption('--node-rank', nodeRank, `${range}, because each round assigns it`);
  if (common.dryRun) throw badOption('--dry-run', true, `${range}, because each round assigns the ranks`);
  if (rdzvEndpoint === undefined) {
    throw missingOption(
      `--nnodes ${nnodes} needs --rdzv-endpoint.`,
      '--rdzv-endpoint',
      'Start on every host: npx acc launch --nnodes A:B --rdzv-endpoint HOST:PORT …, where HOST is the first host.',
    );
  }
  const endpoint = parseEndpoint(rdzvEndpoint);
  if (endpoint.port === 0) throw badOption('--rdzv-endpoint', rdzvEndpoint, 'a fixed port, not 0');
  return { ...common, nodeRank: undefined, endpoint, rendezvous: undefined };
}

/** The fewest and the most hosts. `min` is undefined without a range. */
function parseNodes(nnodes: number | string): { readonly min: number | undefined; readonly max: number } {
  const [, from, to] = /^(\d+)(?::(\d+))?$/.exec(String(nnodes)) ?? [];
  const [least, max] = [Number(from), Number(to ?? from)];
  if (!(least >= 1 && least <= max && Number.isSafeInteger(max)))
    throw badOption('--nnodes', nnodes, 'a whole number from 1, or the fewest and the most hosts: 1:4');
  return { min: to === undefined ? undefined : least, max };
}

/** The part of the plan that does not depend on how hosts find each other. */
function commonPlan({ script, args = [], env = {} }: LaunchOptions, options: Complete): CommonPlan {
  const { prefix, cpuBind, dryRun, nodeRank, interface: networkInterface } = options;
  const { threads, oversubscribe, maxRestarts } = options;
  const nproc = options.nproc === 'auto' ? availableParallelism() : options.nproc;
  const { min: minNodes, max: nnodes } = parseNodes(options.nnodes);
  if (nodeRank !== undefined) requireInteger('--node-rank', nodeRank, 0, nnodes - 1);
  const logs = logPlan(options, nproc * nnodes);
  const numbers = { nproc, nnodes, minNodes, threads, oversubscribe, maxRestarts };
  return {
    script,
    args,
    ...numbers,
    ...timesOf(options),
    prefix,
    networkInterface,
    cpuBind,
    logs,
    dryRun,
    env,
  };
}

function timesOf({
  lastCall,
  hostTimeout,
  grace,
}: Complete): Pick<LaunchPlan, 'lastCallMs' | 'hostTimeoutMs' | 'graceMs'> {
  return { lastCallMs: lastCall * 1000, hostTimeoutMs: hostTimeout * 1000, graceMs: grace * 1000 };
}

function logPlan({ logDir, tee }: Complete, ranks: number): LogPlan | undefined {
  if (logDir === undefined) {
    if (tee === undefined) return undefined;
    throw missingOption(
      '--tee needs --log-dir.',
      '--log-dir',
      'Without --log-dir, the output of every rank is shown.',
    );
  }
  for (const rank of tee === undefined || tee === 'all' ? [] : tee)
    requireInteger('--tee', rank, 0, ranks - 1);
  return { folder: resolve(logDir), tee: tee ?? [] };
}

function etcdRendezvous({ rdzvEndpoint, rdzvId }: Complete): EtcdRendezvous {
  const missing = rdzvEndpoint === undefined ? '--rdzv-endpoint' : rdzvId === undefined && '--rdzv-id';
  if (missing) {
    throw missingOption(
      `A rendezvous through etcd needs ${missing}.`,
      missing,
      'Start on every host: npx acc launch --nnodes A --rdzv-backend etcd --rdzv-endpoint ETCD:2379 --rdzv-id NAME …',
    );
  }
  if (!/^[\w.-]+$/.test(rdzvId!)) throw badOption('--rdzv-id', rdzvId, 'letters, digits, and _ . -');
  return { ...parseEndpoint(rdzvEndpoint!, ETCD_PORT), id: rdzvId! };
}

function fixedEndpoint({ nodeRank, rdzvEndpoint, rdzvId }: Complete, nnodes: number): Endpoint | undefined {
  if (rdzvId !== undefined) throw badOption('--rdzv-id', rdzvId, 'used with --rdzv-backend etcd only');
  const missing = nodeRank === undefined ? '--node-rank' : rdzvEndpoint === undefined && '--rdzv-endpoint';
  if (nnodes > 1 && missing) {
    throw missingOption(
      `Several hosts need ${missing}.`,
      missing,
      'Start on every host: npx acc launch --nnodes A --node-rank R --rdzv-endpoint HOST:PORT …, where HOST is the host of node rank 0.',
    );
  }
  const endpoint = rdzvEndpoint === undefined ? undefined : parseEndpoint(rdzvEndpoint);
  if (nnodes > 1 && endpoint?.port === 0) {
    throw badOption('--rdzv-endpoint', rdzvEndpoint, 'a fixed port, not 0');
  }
  return endpoint;
}

function missingOption(message: string, option: string, help: string): AccError {
  return new AccError('ACC_MISSING_OPTION', message, { help, details: { option } });
}

/** Parses `host`, `host:port`, `[address]` or `[address]:port`. */
export function parseEndpoint(text: string, defaultPort = DEFAULT_PORT): Endpoint {
  const [, bracketed, plain, digits] = /^(?:\[([^\]]+)\]|([^:[\]]+))(?::(\d+))?$/.exec(text) ?? [];
  const host = bracketed ?? plain;
  const port = digits === undefined ? defaultPort : Number(digits);
  if (host === undefined || port > 65_535) {
    throw badOption('--rdzv-endpoint', text, 'HOST or HOST:PORT, with an IPv6 address in brackets');
  }
  return { host, port };
}
