import {
  DATA_AXES,
  FORWARD_AXES,
  knowForwardRanks,
  type MeshAxis,
  type Plugin,
  type Strategy,
} from '@acc/contract';
import { gradientDepth } from '@acc/tfjs-internals';

/** Axes along which strategies shard. */
const SHARDING: readonly MeshAxis[] = FORWARD_AXES.filter((axis) => axis !== 'tensor');
const SAME_ROWS = FORWARD_AXES.filter((axis) => !DATA_AXES.includes(axis));

/** Tells programs which ranks compute forward passes together, while an Accelerator runs. */
export function forwardRanks(strategy: Pick<Strategy, 'shardsOf' | 'tape' | 'traits'>): Plugin {
  let forget: (() => void) | undefined;
  const release = () => {
    if (gradientDepth() === 0) strategy.tape?.end?.();
  };
  return {
    name: 'forward-ranks',
    attach({ mesh, collective }) {
      // The mesh creates groups here, because all ranks of the job are at this point together.
      const [sameRows, alongAxes] = [mesh.over(SAME_ROWS), mesh.over(FORWARD_AXES)];
      // A strategy of the program may shard over all ranks without an axis for it.
      const isSharded = strategy.traits.parameters === 'sharded';
      const hasAxis = mesh.axes.some((axis) => SHARDING.includes(axis));
      const ranks = { sameRows, all: isSharded && !hasAxis ? collective : alongAxes, release };
      if (ranks.all.size === 1) return;
      forget = knowForwardRanks((variable) => strategy.shardsOf?.(variable) && ranks);
    },
    detach: () => forget?.(),
  };
}
