import { spawnSync } from 'node:child_process';
import { AccError } from '@acc/contract';
import type { CompleteOptions, LAUNCH_OPTIONS } from '@acc/config';
import { readCores, type Core } from './topology.js';

/** How ranks are bound: not at all, each to cores of its own, or to the NUMA nodes of its share. */
export type CpuBind = CompleteOptions<typeof LAUNCH_OPTIONS>['cpuBind'];

/** The logical CPUs on which a rank runs. */
export interface RankCpus {
  /** In ascending order. */
  readonly cpus: readonly number[];
  /** The NUMA nodes of the CPUs, in ascending order. */
  readonly nodes: readonly number[];
  /** The default number of threads: the cores, divided by the ranks that share them. */
  readonly threads: number;
}

/**
 * The CPUs of each rank of this host, in the order of local ranks. Undefined if ranks are not
 * bound.
 *
 * @throws AccError `ACC_PLATFORM_UNSUPPORTED`, `ACC_PROGRAM_MISSING`, `ACC_CPU_BIND`.
 */
export function bindRanks(
  bind: CpuBind,
  nproc: number,
  platform: NodeJS.Platform = process.platform,
): readonly RankCpus[] | undefined {
  if (bind === 'none') return undefined;
  requireTaskset(platform);
  const cores = readCores();
  return bind === 'cores' ? divideCores(cores, nproc) : divideNodes(cores, nproc);
}

/** The arguments before a command that runs on these CPUs. The process keeps its id. */
export function onCpus(cpus: RankCpus | undefined): readonly string[] {
  return cpus ? ['taskset', '-c', cpus.cpus.join(',')] : [];
}

/**
 * Gives each rank an equal share of whole cores. More ranks than cores share the cores' logical
 * CPUs.
 *
 * @throws AccError `ACC_CPU_BIND` for more ranks than CPUs.
 */
export function divideCores(cores: readonly Core[], nproc: number): RankCpus[] {
  const units =
    cores.length >= nproc
      ? cores
      : cores.flatMap(({ node, cpus }) => cpus.map((cpu): Core => ({ node, cpus: [cpu] })));
  if (units.length < nproc) {
    throw new AccError(
      'ACC_CPU_BIND',
      `${nproc} ranks cannot have CPUs of their own: this process may use ${units.length} CPUs.`,
      { help: 'Start fewer ranks (-n), or bind to NUMA nodes or not at all: --cpu-bind numa or none.' },
    );
  }
  return shares(units, nproc).map((share) => rankCpus(share, 1));
}

/**
 * Gives each rank all CPUs of one NUMA node, or of several if there are fewer ranks than nodes.
 * Ranks of one node share its CPUs.
 */
export function divideNodes(cores: readonly Core[], nproc: number): RankCpus[] {
  const nodes = [...new Set(cores.map(({ node }) => node))];
  const nodesOfRank = (rank: number): number[] =>
    nproc < nodes.length ? shares(nodes, nproc)[rank]! : [nodes[Math.floor((rank * nodes.length) / nproc)]!];
  const own = Array.from({ length: nproc }, (_, rank) => nodesOfRank(rank));
  return own.map((mine) => {
    const sharers = own.filter(([first]) => first === mine[0]).length;
    return rankCpus(
      cores.filter(({ node }) => mine.includes(node)),
      sharers,
    );
  });
}

function rankCpus(cores: readonly Core[], sharers: number): RankCpus {
  return {
    cpus: cores.flatMap(({ cpus }) => cpus).sort((a, b) => a - b),
    nodes: [...new Set(cores.map(({ node }) => node))].sort((a, b) => a - b),
    threads: Math.max(1, Math.floor(cores.length / sharers)),
  };
}

/** Divides a list into contiguous parts whose lengths differ by at most one. */
function shares<T>(list: readonly T[], parts: number): T[][] {
  const start = (part: number): number => Math.floor((part * list.length) / parts);
  return Array.from({ length: parts }, (_, part) => list.slice(start(part), start(part + 1)));
}

/** Linux binds a process by `taskset`, before any thread of it starts. */
function requireTaskset(platform: NodeJS.Platform): void {
  if (platform !== 'linux') {
    throw new AccError('ACC_PLATFORM_UNSUPPORTED', `--cpu-bind needs Linux, not ${platform}.`, {
      help: 'Start without --cpu-bind.',
    });
  }
  const { error } = spawnSync('taskset', ['--version'], { stdio: 'ignore' });
  if (!error) return;
  throw new AccError(
    'ACC_PROGRAM_MISSING',
    '--cpu-bind needs the program taskset, which is not on the PATH.',
    {
      help: 'Install util-linux: apt-get install util-linux',
      cause: error,
    },
  );
}
