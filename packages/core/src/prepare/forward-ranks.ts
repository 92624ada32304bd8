import {
  DATA_AXES,
  FORWARD_AXES,
  type Collective,
  type Mesh,
  type MeshAxis,
  type Strategy,
} from '@acc/contract';
import type { FindRanks } from '@acc/tape';
import { gradientDepth } from '@acc/tfjs-internals';

/** Axes along which strategies shard. */
const SHARDING: readonly MeshAxis[] = FORWARD_AXES.filter((axis) => axis !== 'tensor');
const SAME_ROWS = FORWARD_AXES.filter((axis) => !DATA_AXES.includes(axis));

/**
 * Finds the ranks that compute forward passes together with this one. The mesh creates groups, so
 * all ranks of the job call it together.
 *
 * @returns Undefined if this rank computes for itself.
 */
export function forwardRanks(
  strategy: Pick<Strategy, 'layout' | 'tape' | 'traits'>,
  { mesh, collective }: { readonly mesh: Mesh; readonly collective: Collective },
): FindRanks | undefined {
  if (collective.size === 1) return undefined;
  const [sameRows, alongAxes] = [mesh.over(SAME_ROWS), mesh.over(FORWARD_AXES)];
  // A strategy of the program may shard over all ranks without an axis for it.
  const isSharded = strategy.traits.parameters === 'sharded';
  const hasAxis = mesh.axes.some((axis) => SHARDING.includes(axis));
  const release = () => {
    if (gradientDepth() === 0) strategy.tape?.end?.();
  };
  const ranks = { sameRows, all: isSharded && !hasAxis ? collective : alongAxes, release };
  if (ranks.all.size === 1) return undefined;
  return (variable) => (strategy.layout?.shardsOf(variable) ? ranks : undefined);
}
