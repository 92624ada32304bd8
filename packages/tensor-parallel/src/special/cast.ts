import type { TensorInfo } from '@tensorflow/tfjs-core';
import type { Special } from './context.js';
import { accOf } from './native.js';

/** A sum of 16-bit terms is added up before it is widened: that halves the bytes. */
export const widening: Special = {
  whenSharded({ shards, kernels, run }, { inputs, attrs }) {
    const x = inputs!['x'] as TensorInfo;
    if (!shards.isSum(x) || accOf(kernels.backend).nativeDtypeOf(x) === 'float32') return undefined;
    shards.addUp(x);
    return run('AccCast', { x }, attrs);
  },
};
