import { Tensor } from '@tensorflow/tfjs-core';
import { AccError } from '@acc/contract';
import type { ItemCounts } from '@acc/grad-accumulation';
import type { LossWeight } from '@acc/pipeline';
import { engineInternals } from '@acc/tfjs-internals';
import { requireNumber, type NumberRule } from '../require-arguments.js';
import { rowCountsOf, samplesOf, type BatchRows, type PassRanks } from './batch-rows.js';
import { LossPath } from './follow-loss.js';
import { watchLosses } from './weighted-losses.js';

/**
 * The number of backward passes whose losses are examined. Losses that ranks cannot weight by their
 * rows cause a warning.
 */
const PASSES_LOOKED_AT = 16;
const ITEMS: NumberRule = {
  expected: 'a number of items from 0, or a scalar tensor',
  help: 'Give the number of items, for example tokens, of this micro-batch on this rank.',
  isRight: (count) => count >= 0 && Number.isFinite(count),
};

/**
 * The number of items that each loss is a mean over: samples, the count given to `weighLoss`, or
 * the weights given to `tf.losses`.
 */
export class LossItems {
  readonly #weights = new WeakMap<Tensor, LossWeight>();
  /** Whether a weight was recorded since the last pass. */
  #isFresh = false;
  #isWatching = false;
  #lookedAt = 0;
  #hasWarned = false;

  /** The weight of the loss of the last backward pass. Undefined if it is weighted by its rows. */
  last: LossWeight | undefined;

  /**
   * Records that `loss` is this rank's mean over `count` items. `count` may be 0.
   *
   * @throws AccError `ACC_INVALID_ARGUMENT`.
   */
  say<T extends Tensor>(loss: T, count: number | Tensor): T {
    const items = (count instanceof Tensor ? count.dataSync()[0] : count)!;
    requireNumber('weighLoss', 'count', items, ITEMS);
    const isNaN = items === 0 && Number.isNaN(loss.dataSync()[0]);
    this.note(loss, { items, ...(isNaN && { isNaN }) });
    return loss;
  }

  /** Starts to observe the losses of `tf.losses`. Returns a function that stops it. */
  watch(): () => void {
    this.#isWatching = true;
    const unwatch = watchLosses((loss, weight) => this.note(loss, weight));
    return () => {
      this.#isWatching = false;
      unwatch();
    };
  }

  /** Observes the losses of `tf.losses` while `fn` runs. */
  watching<T>(fn: () => T): T {
    if (this.#isWatching) return fn();
    const unwatch = watchLosses((loss, weight) => this.note(loss, weight));
    try {
      return fn();
    } finally {
      unwatch();
    }
  }

  /** The item counts of a backward pass from `loss`. */
  countsOf(loss: Tensor, batch: BatchRows | undefined, ranks: PassRanks): ItemCounts {
    const samples = samplesOf(batch);
    const weight = this.weightOf(loss, batch?.rows[ranks.rank]);
    this.last = weight;
    if (weight && weight !== 'sum') return { own: weight.items, all: undefined, samples };
    const { own, all } = rowCountsOf(batch, ranks);
    return { own: weight === 'sum' ? all : own, all, samples };
  }

  /**
   * Rejects a loss of no items that is NaN. For ranks whose gradients are mixed.
   *
   * @throws AccError `ACC_INVALID_ARGUMENT`.
   */
  requireNumber(weight: LossWeight | undefined): void {
    if (typeof weight !== 'object' || !weight.isNaN) return;
    throw new AccError(
      'ACC_INVALID_ARGUMENT',
      'weighLoss: the loss of no items on this rank is NaN, and so are the gradients that pass through this rank from losses of other ranks.',
      { help: 'Divide by at least 1: accelerator.weighLoss(sum.div(count.maximum(1)), count).' },
    );
  }

  /** Records the weight of a loss. */
  note(loss: Tensor, weight: LossWeight): void {
    this.#weights.set(loss, weight);
    this.#isFresh = true;
  }

  /** The weight of a loss that was just computed on the active tape, on `rows` rows if they are known. */
  weightOf(loss: Tensor, rows: number | undefined): LossWeight | undefined {
    const { activeTape } = engineInternals().state;
    const looks = this.#isFresh || (this.#isWatching && this.#lookedAt++ < PASSES_LOOKED_AT);
    this.#isFresh = false;
    const own = this.#weights.get(loss);
    if (own || !looks || !activeTape) return own;
    const origin = new LossPath(activeTape, rows, (x) => this.#weights.has(x)).originOf(loss);
    if (origin === 'mean') return undefined;
    if ('reason' in origin) return this.#warn(origin.reason);
    const weight = this.#weights.get(origin.known)!;
    // Each rank would add the penalty once more.
    if (weight === 'sum' && origin.hasPenalty) return this.#warn('it adds a penalty to a sum over rows');
    // A replay of the step asks again without a tape.
    this.#weights.set(loss, weight);
    return weight;
  }

  /** Warns once that ranks weight a loss by their rows although that may be wrong. */
  #warn(reason: string): undefined {
    if (!this.#isWatching || this.#hasWarned) return undefined;
    this.#hasWarned = true;
    console.warn(
      `acc: ranks weight a loss by their rows, but ${reason}. The step may differ from that of one process. ` +
        'State the number of items of the mean with accelerator.weighLoss(loss, count). See docs/when-k-ranks-equal-one.md.',
    );
    return undefined;
  }
}
