import type { TensorInfo } from '@tensorflow/tfjs-core';
import { repetitionsOf } from '@acc/contract';
import type { DropoutPlace } from '@acc/kernels';
import type { Special } from './context.js';

/**
 * Dropout of this rank's shard. Every rank draws for the whole tensor, so that the shards get the mask
 * of one process, and the ranks' generators stay equal.
 */
export const dropout: Special = {
  whenSharded({ shards, kernels }, { inputs, attrs }) {
    const { x } = inputs as { x: TensorInfo };
    const state = shards.stateOf(x);
    if (state?.kind !== 'rows') return undefined;
    const { count, index } = shards.line;
    const within: DropoutPlace = { outer: repetitionsOf(x.shape, state.at), count, index };
    const local = kernels.run('AccDropout', { x: shards.localShardOf(x) }, { ...attrs, within });
    return shards.hold(local, state, shards.gathers(x));
  },
};
