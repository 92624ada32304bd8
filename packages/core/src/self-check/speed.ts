import { ones, slice, type Tensor, tidy } from '@tensorflow/tfjs-core';
import { medianLow } from '@acc/contract';
import type { Check, Figure } from './check.js';

/** Bytes of a tensor, and how often it is reduced. */
const SIZES: readonly (readonly [bytes: number, times: number])[] = [
  [4, 200],
  [64_000, 100],
  [1_000_000, 30],
  [16_000_000, 6],
  [64_000_000, 3],
];
const WARM_UP = 20;
const FLOAT_BYTES = 4;

/** How long an all-reduce of float32 tensors takes. It never fails. */
export const speedCheck: Check = {
  name: 'speed',
  run: ({ collective, kernels }) => {
    const { size: n } = collective;
    if (n === 1) return { leftOut: 'one rank sends nothing' };
    const isWaiting = kernels.device !== 'cpu';
    const reduce = (x: Tensor): void => {
      const sum = collective.allReduce(x, 'sum');
      // A GPU computes on its own; reading waits for it.
      if (isWaiting) tidy(() => void slice(sum, [0], [1]).dataSync());
      sum.dispose();
    };
    const figures = SIZES.map(([bytes, times]): Figure => {
      const seconds = medianSeconds(bytes / FLOAT_BYTES, times, reduce);
      const sent = (2 * bytes * (n - 1)) / n;
      return { bytes, microseconds: seconds * 1e6, gigabytesPerSecond: sent / seconds / 1e9 };
    });
    return { figures, note: 'all-reduce of float32, measured but not judged' };
  },
};

function medianSeconds(length: number, times: number, reduce: (x: Tensor) => void): number {
  const x = ones([length]);
  for (let i = 0; i < Math.min(times, WARM_UP); i++) reduce(x);
  const seconds = Array.from({ length: times }, () => {
    const start = performance.now();
    reduce(x);
    return (performance.now() - start) / 1000;
  });
  x.dispose();
  return medianLow(seconds);
}
