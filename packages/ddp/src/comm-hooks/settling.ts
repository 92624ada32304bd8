import { afterAll, type Pending } from '@acc/contract';
import type { Tensor } from '@tensorflow/tfjs-core';
import type { CommHook, GradientBucket } from '../comm-hook.js';
import { areFinite } from './kept-state.js';

/** A hook in one backward pass, which it tells at the end whether all of its sums were finite. */
export interface PassHook {
  reduce(bucket: GradientBucket): Pending<Tensor>;
  end(): void;
}

/** Sums are the same on every rank, so ranks need not ask each other. */
export function settling(hook: CommHook): PassHook {
  if (!hook.settle) return { reduce: (bucket) => hook.reduce(bucket), end() {} };
  // What a pass that threw has left.
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
