import { Add, backend_util, util, type TensorInfo } from '@tensorflow/tfjs-core';
import type { Special } from './context.js';

/**
 * A whole tensor that is added to a partial sum becomes part of the first rank's term. The sum stays
 * partial, so a bias and a residual before a normalisation cost no exchange of their own.
 */
export const addition: Special = {
  whenSharded({ shards, kernels }, { inputs }) {
    const { a, b } = inputs as { a: TensorInfo; b: TensorInfo };
    const isFirst = shards.isSum(a);
    const [sum, other] = isFirst ? [a, b] : [b, a];
    const state = shards.layoutOf(sum);
    if (state?.kind !== 'sum' || state.scale !== 1 || shards.isCut(other)) return undefined;
    if (!util.arraysEqual(a.shape, b.shape)) {
      const shape = backend_util.assertAndGetBroadcastShape(a.shape, b.shape);
      if (!util.arraysEqual(shape, sum.shape)) return undefined;
    }
    const local = shards.localShardOf(sum);
    if (shards.line.index === 0) {
      const added = kernels.run(Add, isFirst ? { a: local, b } : { a, b: local });
      return shards.hold(added, state, false);
    }
    kernels.backend.incRef(local.dataId);
    return shards.hold(local, state, false);
  },
};
