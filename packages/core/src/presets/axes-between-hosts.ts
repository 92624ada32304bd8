import { DATA_AXES, MESH_AXES, type Mesh, type MeshAxis } from '@acc/contract';

/** Axes whose ranks exchange values in each layer, the one with the most traffic first. */
const TALKATIVE = ['tensor', 'context', 'expert'] as const;

/**
 * Warns of axes whose ranks exchange values in each layer, and are on different hosts. The network
 * between hosts is slower than memory within one.
 *
 * @param hosts The host of each rank of the job. Undefined if nobody knows them.
 */
export function warnOfAxesBetweenHosts(
  mesh: Pick<Mesh, 'axes' | 'size'>,
  hosts: readonly string[] | undefined,
  warn: (message: string) => void,
): void {
  if (!hosts) return;
  for (const axis of TALKATIVE) {
    const crossing = linesOf(mesh, axis, hosts.length).find((line) => hostsOf(line, hosts).length > 1);
    if (!crossing) continue;
    warn(
      `acc: the ranks of the mesh axis ${axis} exchange values in each layer, and are on several hosts: ranks ${crossing.join(', ')} on ${hostsOf(crossing, hosts).join(', ')}. Each exchange waits for the network. ${nextStep(mesh, hosts)}`,
    );
    return;
  }
}

/** The groups of ranks that differ only in their coordinate on the axis. */
function linesOf(mesh: Pick<Mesh, 'size'>, axis: MeshAxis, ranks: number): number[][] {
  const size = mesh.size(axis);
  const inner = MESH_AXES.slice(MESH_AXES.indexOf(axis) + 1);
  const stride = inner.reduce((product, each) => product * mesh.size(each), 1);
  const isFirst = (rank: number) => Math.floor(rank / stride) % size === 0;
  const firsts = Array.from({ length: ranks }, (_, rank) => rank).filter(isFirst);
  return firsts.map((first) => Array.from({ length: size }, (_, i) => first + i * stride));
}

function hostsOf(ranks: readonly number[], hosts: readonly string[]): string[] {
  return [...new Set(ranks.map((rank) => hosts[rank]!))];
}

function nextStep(mesh: Pick<Mesh, 'axes' | 'size'>, hosts: readonly string[]): string {
  const isLast = (rank: number) => hosts[rank] !== hosts[rank + 1];
  const lasts = hosts.map((_, rank) => rank).filter(isLast);
  if (lasts.length > new Set(hosts).size) {
    return 'Number the ranks of one host after those of another (mpirun: --map-by slot; srun: --distribution=block).';
  }
  // Ranks of an axis share a host if the ranks of each host can be divided into such groups.
  const counts = lasts.map((last, i) => last - (lasts[i - 1] ?? -1));
  const common = counts.reduce(greatestCommonDivisor);
  const sizes = fitting(mesh, common, hosts.length);
  const text = Object.entries(sizes).map(([axis, size]) => `${axis}: ${size}`);
  const start = new Set(counts).size > 1 ? 'Start as many ranks on every host, or give' : 'Give';
  return `${start} sizes whose exchanges stay inside a host, for example mesh: { ${text.join(', ')} }.`;
}

/** The sizes of the mesh, with fewer ranks along axes that cross hosts and more with rows of their own. */
function fitting(
  mesh: Pick<Mesh, 'axes' | 'size'>,
  ranksOfHost: number,
  ranks: number,
): Partial<Record<MeshAxis, number>> {
  const isFree = (axis: MeshAxis) => DATA_AXES.includes(axis) && !TALKATIVE.some((each) => each === axis);
  const rest = mesh.axes.findLast(isFree) ?? 'data';
  const sizes = new Map(MESH_AXES.map((axis) => [axis, mesh.size(axis)]));
  let left = ranksOfHost;
  for (const axis of TALKATIVE) {
    const size = greatestCommonDivisor(left, mesh.size(axis));
    sizes.set(axis, size);
    left /= size;
  }
  sizes.set(rest, 1);
  sizes.set(rest, ranks / [...sizes.values()].reduce((product, size) => product * size, 1));
  const isShown = (axis: MeshAxis) => axis === rest || sizes.get(axis)! > 1;
  return Object.fromEntries(MESH_AXES.filter(isShown).map((axis) => [axis, sizes.get(axis)!]));
}

function greatestCommonDivisor(a: number, b: number): number {
  return b === 0 ? a : greatestCommonDivisor(b, a % b);
}
