import type { TensorInfo } from '@tensorflow/tfjs-core';
import type { Special } from './context.js';

/**
 * Gathers rows of which one part is longer than in other inputs, and leaves the call to the rule,
 * which cuts them as the others are. The gradients of queries beside fewer keys are such.
 */
export const concat: Special = {
  whenSharded({ shards }, { inputs, attrs }) {
    const list = Object.values(inputs) as TensorInfo[];
    const axis = attrs!['axis'] as number;
    const along = list.flatMap((x) => {
      const state = shards.stateOf(x);
      const dim = axis < 0 ? axis + x.shape.length : axis;
      return state?.kind === 'rows' && state.at.dim === dim
        ? [{ x, length: x.shape[dim]! / state.at.times }]
        : [];
    });
    const shortest = Math.min(...along.map(({ length }) => length));
    for (const { x, length } of along) if (length > shortest) shards.gatherFull(x);
    return undefined;
  },
};
