import {
  abs,
  add,
  concat,
  dispose,
  mean,
  mul,
  reshape,
  slice,
  split,
  stack,
  sub,
  sum,
  tidy,
  zeros,
} from '@tensorflow/tfjs-core';
import type { Tensor } from '@tensorflow/tfjs-core';
import { afterAll, parseOptions, type Pending } from '@acc/contract';
import * as z from 'zod';
import type { CommHook, GradientBucket } from '../comm-hook.js';
import { packSigns, unpackSigns, wordsOf } from './sign-bits.js';
import { plainSum, StatefulHook } from './stateful-hook.js';

export interface OneBitOptions {
  /**
   * β₁ of the optimizer. The momentum is sent, and the hook returns the gradients from which an
   * optimizer with this β₁ computes the averaged momentum. 0: the gradients themselves are sent.
   * Default 0.9.
   */
  readonly momentum?: number;
  /**
   * The number of steps in which whole gradients are sent. It must be that of `oneBitAdam`. Default
   * 100.
   */
  readonly warmupSteps?: number;
}

const schema = z.object({
  momentum: z.number().min(0).lt(1).default(0.9),
  warmupSteps: z.int().nonnegative().default(100),
});

/**
 * Sends one bit for each element and one scale for each variable, with error feedback. It is the
 * communication of 1-bit Adam (Tang et al., "1-bit Adam: Communication Efficient Large-Scale
 * Training with Adam's Convergence Speed", 2021, algorithm 1), for `oneBitAdam`, or for another
 * optimizer with the same β₁ whose variance does not change. Every rank gets the bits of every
 * other rank, so nothing is compressed twice.
 *
 * @throws AccError `ACC_UNKNOWN_OPTION`, `ACC_INVALID_OPTION`.
 */
export function oneBitHook(options: OneBitOptions = {}): CommHook {
  const { momentum, warmupSteps } = parseOptions("commHook 'oneBit'", schema, options);
  return new OneBit(momentum, warmupSteps);
}

class OneBit extends StatefulHook {
  readonly name = 'oneBit';

  constructor(
    private readonly beta: number,
    private readonly warmupSteps: number,
  ) {
    super();
  }

  override reduce(bucket: GradientBucket): Pending<Tensor> {
    const isWarmup = this.shared.count(`${bucket.id}/step`) < this.warmupSteps;
    if (!isWarmup) return this.#compressed(bucket);
    return afterAll([plainSum(bucket)], (grads) => this.#follow(bucket, grads!));
  }

  /** Updates the momentum while whole gradients are sent. */
  #follow({ id }: GradientBucket, grads: Tensor): Tensor {
    if (this.beta > 0) {
      tidy(() => {
        const before = this.#momentum(id, grads.size);
        this.shared.set(`${id}/momentum`, add(mul(before, this.beta), mul(grads, 1 - this.beta)));
      });
    }
    return grads;
  }

  #momentum(id: string, size: number): Tensor {
    return this.shared.tensor(`${id}/momentum`, [size], () => zeros([size]));
  }

  #compressed({ id, gradsLocal, variables, collective }: GradientBucket): Pending<Tensor> {
    const { size } = gradsLocal;
    const sizes = variables.map((variable) => variable.size);
    const sent = tidy(() => {
      const error = this.local.tensor(`${id}/error`, [size], () => zeros([size]));
      const wanted = add(this.#momentumShare(id, gradsLocal, collective.size), error);
      const scales = stack(split(wanted, sizes).map((part) => mean(abs(part))));
      const bits = packSigns(wanted);
      this.local.set(`${id}/error`, sub(wanted, decode(bits, scales, sizes)));
      return { bits, scales };
    });
    gradsLocal.dispose();
    const pending = [sent.bits, sent.scales].map((x) => collective.allGatherAsync(x));
    return afterAll(pending, (bits, scales) => {
      const decoded = () => decode(bits!, scales!, sizes);
      const grads = tidy(() => this.#gradients(id, decoded(), bits!.size, collective.size));
      dispose([bits!, scales!, sent.bits, sent.scales]);
      return grads;
    });
  }

  /**
   * This rank's share of the averaged momentum: (1 - β₁) g, plus an equal share of the old momentum.
   */
  #momentumShare(id: string, grads: Tensor, ranks: number): Tensor {
    if (this.beta === 0) return grads;
    return add(mul(this.#momentum(id, grads.size), this.beta / ranks), mul(grads, 1 - this.beta));
  }

  /** The gradients from which m ← β₁ m + (1 - β₁) g yields the new momentum. */
  #gradients(id: string, sumOfRanks: Tensor, words: number, ranks: number): Tensor {
    if (this.beta === 0) return sumOfRanks;
    const before = this.#momentum(id, sumOfRanks.size);
    const senders = words / wordsOf(sumOfRanks.size);
    // Ranks without data did not send their shares of the old momentum.
    const momentum =
      senders === ranks ? sumOfRanks : add(sumOfRanks, mul(before, this.beta * (1 - senders / ranks)));
    const grads = mul(sub(momentum, mul(before, this.beta)), 1 / (1 - this.beta));
    this.shared.set(`${id}/momentum`, momentum);
    return grads;
  }
}

/**
 * The sum of the values that all ranks sent.
 *
 * @param bits Words of signs, rank after rank.
 * @param scales One scale for each variable, rank after rank.
 * @param sizes The number of elements of each variable.
 */
function decode(bits: Tensor, scales: Tensor, sizes: readonly number[]): Tensor {
  const elements = sizes.reduce((total, size) => total + size, 0);
  const signs = unpackSigns(bits, elements);
  const byRank = reshape(scales, [-1, sizes.length]);
  let start = 0;
  const parts = sizes.map((size, i) => {
    const own = slice(signs, [0, start], [-1, size]);
    start += size;
    return sum(mul(own, slice(byRank, [0, i], [-1, 1])), 0);
  });
  return concat(parts);
}
