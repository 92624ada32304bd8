import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/** A processor core, with those of its logical CPUs that this process may use. */
export interface Core {
  /** The number of its NUMA node. */
  readonly node: number;
  /** In ascending order. A core with hyper-threading has two. */
  readonly cpus: readonly number[];
}

/**
 * The cores of this host that this process may use, in the order of NUMA nodes. Linux describes
 * them in /sys. Where it does not, as in some containers, all CPUs are cores of node 0.
 *
 * @param status The text of /proc/self/status, which lists the permitted CPUs.
 * @param system The folder `/sys/devices/system`.
 */
export function readCores(
  status = readFileSync('/proc/self/status', 'utf8'),
  system = '/sys/devices/system',
): Core[] {
  const allowed = parseList(/^Cpus_allowed_list:\s*(\S+)/m.exec(status)?.[1] ?? '');
  const nodes = nodesOfCpus(system);
  const cores = new Map<string, { node: number; cpus: number[] }>();
  for (const cpu of allowed) {
    const siblings = readText(join(system, `cpu/cpu${cpu}/topology/thread_siblings_list`)) ?? String(cpu);
    const core = cores.get(siblings) ?? { node: nodes.get(cpu) ?? 0, cpus: [] };
    core.cpus.push(cpu);
    cores.set(siblings, core);
  }
  return [...cores.values()].sort((a, b) => a.node - b.node || a.cpus[0]! - b.cpus[0]!);
}

/** The NUMA node of each logical CPU. */
function nodesOfCpus(system: string): Map<number, number> {
  const nodes = new Map<number, number>();
  for (const name of namesIn(join(system, 'node'))) {
    const [, digits] = /^node(\d+)$/.exec(name) ?? [];
    if (digits === undefined) continue;
    const cpus = parseList(readText(join(system, 'node', name, 'cpulist')) ?? '');
    for (const cpu of cpus) nodes.set(cpu, Number(digits));
  }
  return nodes;
}

/** Parses a list of the kernel: `0-3,8`. */
export function parseList(text: string): number[] {
  return text.split(',').flatMap((range) => {
    const [, first, last] = /^(\d+)(?:-(\d+))?$/.exec(range.trim()) ?? [];
    if (first === undefined) return [];
    const from = Number(first);
    return Array.from({ length: Number(last ?? first) - from + 1 }, (_, i) => from + i);
  });
}

function readText(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8').trim();
  } catch {
    // The kernel does not describe this part of the topology.
    return undefined;
  }
}

function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch {
    // A kernel without NUMA.
    return [];
  }
}
