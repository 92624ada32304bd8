import type { Tensor } from '@tensorflow/tfjs-core';
import { AccError, type ItemCounts } from '@acc/contract';
import { engineInternals } from '@acc/tfjs-internals';
import { samplesOf, type BatchRows } from './batch-rows.js';
import { LossPath } from './follow-loss.js';
import { watchLosses, type LossWeight } from './weighted-losses.js';

/** Who takes part in a backward pass. */
interface Ranks {
  /** This one. */
  readonly rank: number;
  readonly countRanks: () => number;
}

/** Backward passes whose losses are looked at for what ranks cannot add up by their rows. */
const PASSES_LOOKED_AT = 16;

/** Over how many items each loss is a mean: samples, what the loss function said, or what `tf.losses` was given as weights. */
export class LossItems {
  readonly #weights = new WeakMap<Tensor, LossWeight>();
  /** A weight became known since the last pass. */
  #isFresh = false;
  #isWatching = false;
  #lookedAt = 0;
  #hasWarned = false;

  /** Of the loss of the last backward pass; undefined where it counts by its rows. */
  last: LossWeight | undefined;

  /**
   * `loss`, this rank's mean over `count` items, which may be 0, now counts as much.
   *
   * @throws AccError `ACC_INVALID_ARGUMENT`.
   */
  say<T extends Tensor>(loss: T, count: number | Tensor): T {
    const items = typeof count === 'number' ? count : count.dataSync()[0]!;
    if (!(items >= 0 && Number.isFinite(items))) {
      throw new AccError('ACC_INVALID_ARGUMENT', `weighLoss: a loss cannot be the mean of ${items} items.`, {
        help: 'Give the number of items (tokens, say) of this micro-batch on this rank.',
        details: { count: items },
      });
    }
    this.#note(loss, { items });
    return loss;
  }

  /** From now on losses of `tf.losses` are seen. Returns what ends that. */
  watch(): () => void {
    this.#isWatching = true;
    const unwatch = watchLosses((loss, weight) => this.#note(loss, weight));
    return () => {
      this.#isWatching = false;
      unwatch();
    };
  }

  /** What a backward pass from `loss` counts. */
  countsOf(loss: Tensor, batch: BatchRows | undefined, { rank, countRanks }: Ranks): ItemCounts {
    const samples = samplesOf(batch);
    const weight = this.#weightOf(loss, batch?.rows[rank]);
    this.last = weight;
    if (weight && weight !== 'sum') return { own: weight.items, all: undefined, samples };
    // Where there is no sample, or nobody has counted, ranks count alike.
    const isCounted = batch !== undefined && samples !== 0;
    const all = isCounted ? samples! : countRanks();
    if (weight === 'sum') return { own: all, all, samples };
    return { own: isCounted ? batch.realRows[rank]! : 1, all, samples };
  }

  #note(loss: Tensor, weight: LossWeight): void {
    this.#weights.set(loss, weight);
    this.#isFresh = true;
  }

  #weightOf(loss: Tensor, rows: number | undefined): LossWeight | undefined {
    const { activeTape } = engineInternals().state;
    const looks = this.#isFresh || (this.#isWatching && this.#lookedAt++ < PASSES_LOOKED_AT);
    this.#isFresh = false;
    const own = this.#weights.get(loss);
    if (own || !looks || !activeTape) return own;
    const origin = new LossPath(activeTape, rows, (x) => this.#weights.has(x)).originOf(loss);
    if (origin === 'mean') return undefined;
    if ('reason' in origin) return this.#warn(origin.reason);
    const weight = this.#weights.get(origin.known)!;
    // Each rank would add the penalty.
    if (weight === 'sum' && origin.hasPenalty)
      return this.#warn('it is a sum over rows with a penalty beside it');
    // A replay of the step asks again, and has no tape.
    this.#weights.set(loss, weight);
    return weight;
  }

  /** Says once that ranks count by their rows, since nothing better is known. */
  #warn(reason: string): undefined {
    if (!this.#isWatching || this.#hasWarned) return undefined;
    this.#hasWarned = true;
    console.warn(
      `acc: ranks weigh a loss by their rows, but ${reason}: the step may differ from that of one process. ` +
        'Say with accelerator.weighLoss(loss, count) how many items it is the mean of; see docs/when-k-ranks-equal-one.md.',
    );
    return undefined;
  }
}
