import type { RankGroup } from '../collectives/collectives.js';
import type { Cluster } from '../cluster.js';
import type { Calibration } from '../hardware/calibrations.js';
import { linkBetween, type Link } from '../hardware/links.js';
import type { Plan } from '../plan.js';

export type Axis = keyof Plan['mesh'];

/** From the axis whose ranks are next to each other. Lines of `tensor` are on one host if they fit. */
const NEAREST_FIRST: readonly Axis[] = ['tensor', 'context', 'fsdp', 'data', 'pipeline'];

/** The ranks of a line of an axis, and the links between them. */
export function groupOf(axis: Axis, mesh: Plan['mesh'], cluster: Cluster, by: Calibration): RankGroup {
  const before = NEAREST_FIRST.slice(0, NEAREST_FIRST.indexOf(axis));
  const stride = before.reduce((product, each) => product * mesh[each], 1);
  const ranks = mesh[axis];
  const most = Math.max(1, Math.floor(cluster.devicesPerHost / stride));
  return {
    ranks,
    ranksPerHost: ranks <= most ? ranks : largestDivisor(ranks, most),
    inside: reached(cluster.link, by.link),
    between: reached(
      linkBetween(cluster.network, Math.ceil(cluster.devices / cluster.devicesPerHost)),
      by.network,
    ),
  };
}

/** The ranks with the same parameters and other tokens, which add their gradients: those of `data` and `context`. */
export function replicasOf(mesh: Plan['mesh'], cluster: Cluster, by: Calibration): RankGroup {
  const [data, context] = [groupOf('data', mesh, cluster, by), groupOf('context', mesh, cluster, by)];
  return {
    ...data,
    ranks: data.ranks * context.ranks,
    ranksPerHost: data.ranksPerHost * context.ranksPerHost,
  };
}

/** The link between neighbours of a line that is not wholly on one host is the slower one. */
export const linkOf = ({ ranks, ranksPerHost, inside, between }: RankGroup): Link =>
  ranks > ranksPerHost ? between : inside;

const reached = ({ bytesPerSecond, latencySeconds }: Link, part: number): Link => ({
  bytesPerSecond: bytesPerSecond * part,
  latencySeconds,
});

function largestDivisor(size: number, most: number): number {
  for (let divisor = most; divisor > 1; divisor--) if (size % divisor === 0) return divisor;
  return 1;
}
