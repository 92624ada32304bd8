import { afterAll, type Pending } from '@acc/contract';
import type { Tensor } from '@tensorflow/tfjs-core';
import type { CommHook, GradientBucket } from '../comm-hook.js';
import { areFinite } from './kept-state.js';

/** A hook during one backward pass. At the end it is told whether all of its sums were finite. */
export interface PassHook {
  reduce(bucket: GradientBucket): Pending<Tensor>;
  end(): void;
}

/** The sums are the same on every rank, so ranks need not exchange the answer. */
export function settling(hook: CommHook): PassHook {
  if (!hook.settle) return { reduce: (bucket) => hook.reduce(bucket), end() {} };
  // Discards the state of a pass that threw an error.
  hook.settle(false);
  let holds = true;
  return {
    reduce: (bucket) =>
      afterAll([hook.reduce(bucket)], (sum) => {
        holds &&= areFinite(sum!);
        return sum!;
      }),
    end: () => hook.settle!(holds),
  };
}
