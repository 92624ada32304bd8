import type { CommandOption } from './command-option.js';

/**
 * The options of `acc launch`, in the order of `--help`. The comment on an option is that of the member
 * of `LaunchOptions`.
 */
export const LAUNCH_OPTIONS = {
  /**
   * The number of ranks on this host; `auto`: one for each core. It must be the same on every host.
   * Default 1.
   */
  nproc: {
    kind: 'whole',
    least: 1,
    words: ['auto'],
    default: 1,
    group: 'Ranks',
    flag: '-n, --nproc <N>',
    help: "processes (ranks) on each host, or 'auto': one for each core",
    inFile: true,
  },
  /**
   * The number of hosts of the job, or the fewest and the most: `'1:4'`. With a range, hosts may be
   * lost, come back and join. Default 1.
   */
  nnodes: {
    kind: 'hosts',
    least: 1,
    default: 1,
    group: 'Several hosts',
    flag: '--nnodes <A>',
    help: "hosts of the job, or a range 'A:B' of hosts that may come and go",
    inFile: { kind: 'whole', least: 1, help: 'hosts of the job' },
  },
  /**
   * With a range: how long a round waits for further hosts once there are enough, in seconds.
   * Default 30.
   */
  lastCall: {
    kind: 'whole',
    least: 0,
    default: 30,
    unit: 's',
    group: 'Several hosts',
    flag: '--last-call <S>',
    help: 'with a range: seconds to wait for further hosts once there are enough',
  },
  /**
   * With a range: a host that does not answer for this long is lost. With etcd: how long the place of
   * a killed host stays taken. In seconds, from 2; the same on every host. Default 10.
   */
  hostTimeout: {
    kind: 'whole',
    least: 2,
    default: 10,
    unit: 's',
    group: 'Several hosts',
    flag: '--host-timeout <S>',
    help: "with a range: seconds after which a host that does not answer is lost; with 'etcd': seconds for which the place of a killed host stays taken; at least 2",
  },
  /**
   * The rank of this host among the hosts, from 0. Required with several hosts, unless they meet
   * through etcd.
   */
  nodeRank: {
    kind: 'whole',
    least: 0,
    otherwise: 'none; several hosts need it',
    group: 'Several hosts',
    flag: '--node-rank <R>',
    help: "this host's rank among the hosts, from 0",
  },
  /**
   * `host` or `host:port`. With `c10d` it is the address of rank 0, required with several hosts,
   * with the default port 29500. With `etcd` it is the address of etcd, with the default port 2379.
   */
  rdzvEndpoint: {
    kind: 'text',
    otherwise: 'on one host, a free port here; several hosts need it',
    group: 'Several hosts',
    flag: '--rdzv-endpoint <H:P>',
    help: "'HOST:PORT' of rank 0 (port 29500 if none is given), or of etcd (port 2379)",
    inFile: true,
  },
  /** How hosts find each other: at a fixed address (`c10d`), or through etcd. Default `c10d`. */
  rdzvBackend: {
    kind: 'choice',
    choices: ['c10d', 'etcd'],
    default: 'c10d',
    group: 'Several hosts',
    flag: '--rdzv-backend <B>',
    help: "how hosts find each other: 'c10d' (rank 0 at the endpoint) or 'etcd'",
    inFile: true,
  },
  /** A name that no other job uses at the same time. Required with etcd. */
  rdzvId: {
    kind: 'text',
    otherwise: 'none; etcd needs it',
    group: 'Several hosts',
    flag: '--rdzv-id <NAME>',
    help: "the job's name, for etcd",
    inFile: true,
  },
  /** The network interface for traffic between hosts. Default: the one that reaches rank 0. */
  interface: {
    kind: 'text',
    otherwise: 'the one that reaches rank 0',
    group: 'Several hosts',
    flag: '--interface <NAME>',
    help: 'the network interface between hosts',
    inFile: true,
  },
  /**
   * The number of threads of each rank. Default: OMP_NUM_THREADS, else cores / ranks on this host.
   */
  threads: {
    kind: 'whole',
    least: 1,
    otherwise: 'OMP_NUM_THREADS, or cores / processes',
    group: 'Ranks',
    flag: '--threads <T>',
    help: 'threads of each process',
    inFile: true,
  },
  /**
   * Starts more ranks than this host has cores and memory for. Without it, more than 8 ranks for each
   * core, and more than fit into memory, are refused; 8 ranks always start. Default false.
   */
  oversubscribe: {
    kind: 'switch',
    default: false,
    group: 'Ranks',
    flag: '--oversubscribe',
    help: 'start more processes than the cores and the memory of this host suffice for',
  },
  /** How many times the job is restarted after a rank fails. Default 0. */
  maxRestarts: {
    kind: 'whole',
    least: 0,
    default: 0,
    group: 'Failures',
    flag: '--max-restarts <K>',
    help: 'how many times to restart the job after a rank fails',
    inFile: true,
  },
  /**
   * The time between the signal that ends ranks and SIGKILL, in seconds. After Ctrl-C or SIGTERM, ranks
   * always have 30 s to save. Default 6.
   */
  grace: {
    kind: 'whole',
    least: 1,
    default: 6,
    unit: 's',
    group: 'Failures',
    flag: '--grace <S>',
    help: 'seconds between the signal that ends a process and SIGKILL; always 30 after Ctrl-C or SIGTERM',
  },
  /**
   * Binds each rank to cores of its own (`cores`), or to the CPUs of a NUMA node (`numa`). Linux
   * only. Default `none`.
   */
  cpuBind: {
    kind: 'choice',
    choices: ['none', 'cores', 'numa'],
    default: 'none',
    group: 'Ranks',
    flag: '--cpu-bind <HOW>',
    help: "run each process on cores of its own ('cores') or on the CPUs of a NUMA node ('numa')",
    inFile: true,
  },
  /** Whether lines are marked with their rank. Default true. A single rank is never marked. */
  prefix: {
    kind: 'switch',
    default: true,
    otherwise: 'marked, unless there is one rank',
    group: 'Output',
    flag: '--no-prefix',
    help: 'do not mark lines with their rank',
  },
  /**
   * A folder for the output of each rank. The output is not shown then, except for ranks in `tee`.
   * Default: the output is shown.
   */
  logDir: {
    kind: 'text',
    otherwise: 'the output is shown',
    group: 'Output',
    flag: '--log-dir <DIR>',
    help: 'write the output of each process to files in this folder, do not show it',
  },
  /** The ranks whose output is also shown, where `logDir` is given. Default none. */
  tee: {
    kind: 'ranks',
    group: 'Output',
    flag: '--tee <RANKS>',
    help: "with '--log-dir': also show the output of these ranks: '0,2' or 'all'",
  },
  /**
   * Whether `script` is the name of a module, as in an `import`: a package, or a file of one. It is searched
   * from the working directory. Default false.
   */
  module: {
    kind: 'switch',
    default: false,
    group: 'Program',
    flag: '-m, --module',
    help: 'the script is the name of a module, as in an import: a package, or a file of one',
  },
  /** Prints what would be started, and starts nothing. Default false. */
  dryRun: {
    kind: 'switch',
    default: false,
    group: 'Without a start',
    flag: '--dry-run',
    help: 'print the command, environment and CPUs of each process; start nothing',
  },
} as const satisfies Readonly<Record<string, CommandOption>>;
