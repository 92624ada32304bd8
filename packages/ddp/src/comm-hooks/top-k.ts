import {
  abs,
  add,
  dispose,
  gather,
  mul,
  reshape,
  scatterND,
  slice,
  sub,
  sum,
  tidy,
  topk,
  zeros,
  type Tensor,
} from '@tensorflow/tfjs-core';
import { afterAll, type Collective, parseOptions, type Pending } from '@acc/contract';
import * as z from 'zod';
import type { CommHook, GradientBucket } from '../comm-hook.js';
import { StatefulHook } from './stateful-hook.js';

export interface TopKOptions {
  /** The fraction of the elements that is sent, above 0 and at most 1. Default 0.01. */
  readonly ratio?: number;
}

const schema = z.object({ ratio: z.number().positive().max(1).default(0.01) });

/**
 * Each rank sends the elements of its gradients with the largest magnitude, as values and indices.
 * It adds the other elements to its next gradients (Lin et al., "Deep Gradient Compression", 2018,
 * without its momentum correction; Stich et al., "Sparsified SGD with Memory", 2018, algorithm 1).
 *
 * @throws AccError `ACC_UNKNOWN_OPTION`, `ACC_INVALID_OPTION`.
 */
export function topKHook(options: TopKOptions = {}): CommHook {
  return new TopK(parseOptions("commHook 'topK'", schema, options).ratio);
}

class TopK extends StatefulHook {
  readonly name = 'topK';

  constructor(private readonly ratio: number) {
    super();
  }

  override reduce({ id, gradsLocal, collective }: GradientBucket): Pending<Tensor> {
    const { size } = gradsLocal;
    const count = Math.ceil(size * this.ratio);
    const sent = tidy(() => {
      const before = this.local.tensor(`${id}/error`, [size], () => zeros([size]));
      const wanted = add(gradsLocal, before);
      const { indices } = topk(abs(wanted), count, false);
      const values = gather(wanted, indices);
      this.local.set(`${id}/error`, sub(wanted, scatter(indices, values, size)));
      // Some backends do not treat NaN as the largest element. This makes sure that a NaN always
      // reaches the result.
      return { values: add(values, sum(mul(wanted, 0))), indices };
    });
    gradsLocal.dispose();
    return gatherAndAdd(sent, size, collective);
  }
}

/** Sums the elements of all ranks. */
function gatherAndAdd(
  sent: { readonly values: Tensor; readonly indices: Tensor },
  size: number,
  collective: Collective,
): Pending<Tensor> {
  const count = sent.values.size;
  const pending = [sent.values, sent.indices].map((x) => collective.allGatherAsync(x));
  return afterAll(pending, (values, indices) => {
    // Adds rank by rank. The indices of one rank are all different, so every rank adds in the same
    // order. Ranks that have left send nothing.
    const result = tidy(() => {
      let total: Tensor = zeros([size]);
      for (let start = 0; start < values!.size; start += count) {
        total = add(total, scatter(slice(indices!, start, count), slice(values!, start, count), size));
      }
      return total;
    });
    dispose([values!, indices!, sent.values, sent.indices]);
    return result;
  });
}

function scatter(indices: Tensor, values: Tensor, size: number): Tensor {
  return scatterND(reshape(indices, [-1, 1]), values, [size]);
}
