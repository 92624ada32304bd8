import { availableParallelism } from 'node:os';
import { resolve } from 'node:path';
import { AccError, checkKeys } from '@acc/contract';
import { CPU_BINDS, type CpuBind } from './cpus/binding.js';

export interface LaunchOptions {
  /** The program: a TypeScript or JavaScript file. */
  readonly script: string;
  /** The arguments of the program. Default: none. */
  readonly args?: readonly string[];
  /**
   * The number of ranks on this host; `auto`: one for each core. It must be the same on every host.
   * Default 1.
   */
  readonly nproc?: number | 'auto';
  /**
   * The number of hosts of the job, or the fewest and the most: `'1:4'`. With a range, hosts may be
   * lost, come back and join. Default 1.
   */
  readonly nnodes?: number | string;
  /**
   * With a range: how long a round waits for further hosts once there are enough, in seconds.
   * Default 30.
   */
  readonly lastCall?: number;
  /**
   * With a range: a host that does not answer for this long is lost. With etcd: how long the place of
   * a killed host stays taken. In seconds, from 2; the same on every host. Default 10.
   */
  readonly hostTimeout?: number;
  /**
   * The rank of this host among the hosts, from 0. Required with several hosts, unless they meet
   * through etcd.
   */
  readonly nodeRank?: number;
  /**
   * `host` or `host:port`. With `c10d` it is the address of rank 0, required with several hosts,
   * with the default port 29500. With `etcd` it is the address of etcd, with the default port 2379.
   */
  readonly rdzvEndpoint?: string;
  /** How hosts find each other: at a fixed address (`c10d`, default), or through etcd. */
  readonly rdzvBackend?: 'c10d' | 'etcd';
  /** A name that no other job uses at the same time. Required with etcd. */
  readonly rdzvId?: string;
  /** The network interface for traffic between hosts. Default: the one that reaches rank 0. */
  readonly interface?: string;
  /**
   * The number of threads of each rank. Default: OMP_NUM_THREADS, else cores / ranks on this host.
   */
  readonly threads?: number;
  /** How many times the job is restarted after a rank fails. Default 0. */
  readonly maxRestarts?: number;
  /**
   * The time between the signal that ends ranks and SIGKILL, in seconds. Ranks that were asked to save
   * have 30 s. Default 6.
   */
  readonly grace?: number;
  /** Whether lines are marked with their rank. Default true. A single rank is never marked. */
  readonly prefix?: boolean;
  /**
   * Binds each rank to cores of its own (`cores`), or to the CPUs of a NUMA node (`numa`). Linux
   * only. Default `none`.
   */
  readonly cpuBind?: CpuBind;
  /**
   * A folder for the output of each rank. The output is not shown then, except for ranks in `tee`.
   * Default: the output is shown.
   */
  readonly logDir?: string;
  /** The ranks whose output is also shown, where `logDir` is given. Default none. */
  readonly tee?: 'all' | readonly number[];
  /** Prints what would be started, and starts nothing. Default false. */
  readonly dryRun?: boolean;
  /**
   * Variables of the ranks, besides those of this process, and in place of them. Those that the
   * launcher must set, such as RANK, cannot be given. Default none.
   */
  readonly env?: Readonly<Record<string, string>>;
}

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

const KEYS = [
  'script',
  'args',
  'nproc',
  'nnodes',
  'lastCall',
  'hostTimeout',
  'nodeRank',
  'rdzvEndpoint',
  'rdzvBackend',
  'rdzvId',
  'interface',
  'threads',
  'maxRestarts',
  'grace',
  'prefix',
  'cpuBind',
  'logDir',
  'tee',
  'dryRun',
  'env',
];

/**
 * Fills in defaults and validates options.
 *
 * @throws AccError `ACC_UNKNOWN_OPTION`; `ACC_BAD_OPTION` for an invalid value;
 * `ACC_MISSING_OPTION` if an option that several hosts need is missing.
 */
export function completeOptions(options: LaunchOptions): LaunchPlan {
  checkKeys('launch', options, KEYS);
  const common = commonPlan(options);
  const { rdzvBackend = 'c10d' } = options;
  if (common.minNodes !== undefined) return elasticPlan(options, common);
  if (options.lastCall !== undefined) {
    throw badOption('--last-call', options.lastCall, 'used with a range of hosts only: --nnodes A:B');
  }
  if (options.hostTimeout !== undefined && rdzvBackend !== 'etcd') {
    throw badOption('--host-timeout', options.hostTimeout, 'used with a range of hosts or with etcd only');
  }
  if (rdzvBackend === 'etcd') {
    if (common.dryRun) throw badOption('--dry-run', 'etcd', 'used without etcd, which assigns the ranks');
    const { nodeRank } = options;
    return { ...common, nodeRank, endpoint: undefined, rendezvous: etcdRendezvous(options) };
  }
  if (rdzvBackend !== 'c10d') throw badOption('--rdzv-backend', rdzvBackend, 'c10d or etcd');
  return {
    ...common,
    nodeRank: options.nodeRank ?? 0,
    endpoint: fixedEndpoint(options, common.nnodes),
    rendezvous: undefined,
  };
}

type CommonPlan = Omit<LaunchPlan, 'nodeRank' | 'endpoint' | 'rendezvous'>;

/** The plan of a job whose hosts come and go. */
function elasticPlan(options: LaunchOptions, common: CommonPlan): LaunchPlan {
  const { rdzvBackend = 'c10d', rdzvId, nodeRank, rdzvEndpoint, nnodes } = options;
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
      'Start on every host: acc launch --nnodes A:B --rdzv-endpoint HOST:PORT …, where HOST is the first host.',
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
function commonPlan(options: LaunchOptions): CommonPlan {
  const { script, args = [], threads, maxRestarts = 0, prefix = true } = options;
  const { lastCall = 30, hostTimeout = 10, grace = 6 } = options;
  const { interface: networkInterface, cpuBind = 'none', dryRun = false, env = {} } = options;
  const nproc = options.nproc === 'auto' ? availableParallelism() : (options.nproc ?? 1);
  requireWhole('-n', nproc, 1);
  const { min: minNodes, max: nnodes } = parseNodes(options.nnodes ?? 1);
  requireWhole('--last-call', lastCall, 0);
  requireWhole('--host-timeout', hostTimeout, 2);
  if (threads !== undefined) requireWhole('--threads', threads, 1);
  requireWhole('--max-restarts', maxRestarts, 0);
  requireWhole('--grace', grace, 1);
  if (options.nodeRank !== undefined) requireWhole('--node-rank', options.nodeRank, 0, nnodes - 1);
  if (!CPU_BINDS.includes(cpuBind)) throw badOption('--cpu-bind', cpuBind, CPU_BINDS.join(', '));
  const logs = logPlan(options, nproc * nnodes);
  const times = { lastCallMs: lastCall * 1000, hostTimeoutMs: hostTimeout * 1000, graceMs: grace * 1000 };
  const numbers = { nproc, nnodes, minNodes, threads, maxRestarts };
  return { script, args, ...numbers, ...times, prefix, networkInterface, cpuBind, logs, dryRun, env };
}

function logPlan({ logDir, tee }: LaunchOptions, ranks: number): LogPlan | undefined {
  if (logDir === undefined) {
    if (tee === undefined) return undefined;
    throw missingOption(
      '--tee needs --log-dir.',
      '--log-dir',
      'Without --log-dir, the output of every rank is shown.',
    );
  }
  for (const rank of tee === undefined || tee === 'all' ? [] : tee) requireWhole('--tee', rank, 0, ranks - 1);
  return { folder: resolve(logDir), tee: tee ?? [] };
}

function etcdRendezvous({ rdzvEndpoint, rdzvId }: LaunchOptions): EtcdRendezvous {
  const missing = rdzvEndpoint === undefined ? '--rdzv-endpoint' : rdzvId === undefined && '--rdzv-id';
  if (missing) {
    throw missingOption(
      `A rendezvous through etcd needs ${missing}.`,
      missing,
      'Start on every host: acc launch --nnodes A --rdzv-backend etcd --rdzv-endpoint ETCD:2379 --rdzv-id NAME …',
    );
  }
  if (!/^[\w.-]+$/.test(rdzvId!)) throw badOption('--rdzv-id', rdzvId, 'letters, digits, and _ . -');
  return { ...parseEndpoint(rdzvEndpoint!, ETCD_PORT), id: rdzvId! };
}

function fixedEndpoint(
  { nodeRank, rdzvEndpoint, rdzvId }: LaunchOptions,
  nnodes: number,
): Endpoint | undefined {
  if (rdzvId !== undefined) throw badOption('--rdzv-id', rdzvId, 'used with --rdzv-backend etcd only');
  const missing = nodeRank === undefined ? '--node-rank' : rdzvEndpoint === undefined && '--rdzv-endpoint';
  if (nnodes > 1 && missing) {
    throw missingOption(
      `Several hosts need ${missing}.`,
      missing,
      'Start on every host: acc launch --nnodes A --node-rank R --rdzv-endpoint HOST:PORT …, where HOST is the host of node rank 0.',
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

/** @throws AccError `ACC_BAD_OPTION`. */
function requireWhole(option: string, value: number, from: number, to = Infinity): void {
  if (Number.isInteger(value) && value >= from && value <= to) return;
  throw badOption(option, value, `a whole number from ${from}${to === Infinity ? '' : ` to ${to}`}`);
}

export function badOption(option: string, value: unknown, expected: string): AccError {
  return new AccError('ACC_BAD_OPTION', `${option} must be ${expected}, not '${String(value)}'.`, {
    help: 'acc launch --help lists the options.',
    details: { option, value },
  });
}
