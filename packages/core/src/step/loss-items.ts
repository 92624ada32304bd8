import type { Tensor } from '@tensorflow/tfjs-core';
import { AccError, type ItemCounts } from '@acc/contract';
import { samplesOf, type BatchRows } from './batch-rows.js';

/** Who takes part in a backward pass. */
interface Ranks {
  /** This one. */
  readonly rank: number;
  readonly countRanks: () => number;
}

/** Over how many items each loss is a mean: samples, or what the loss function said. */
export class LossItems {
  readonly #said = new WeakMap<Tensor, number>();

  /**
   * `loss`, this rank's mean over `count` items, which may be 0, now counts as much.
   *
   * @throws AccError `ACC_INVALID_ARGUMENT`.
   */
  say<T extends Tensor>(loss: T, count: number | Tensor): T {
    const value = typeof count === 'number' ? count : count.dataSync()[0]!;
    if (!(value >= 0 && Number.isFinite(value))) {
      throw new AccError('ACC_INVALID_ARGUMENT', `weighLoss: a loss cannot be the mean of ${value} items.`, {
        help: 'Give the number of items (tokens, say) of this micro-batch on this rank.',
        details: { count: value },
      });
    }
    this.#said.set(loss, value);
    return loss;
  }

  /** What a backward pass from `loss` counts. */
  countsOf(loss: Tensor, batch: BatchRows | undefined, { rank, countRanks }: Ranks): ItemCounts {
    const samples = samplesOf(batch);
    const said = this.#said.get(loss);
    if (said !== undefined) return { own: said, all: undefined, samples };
    // Where there is no sample, or nobody has counted, ranks count alike.
    if (!batch || samples === 0) return { own: 1, all: countRanks(), samples };
    return { own: batch.realRows[rank]!, all: samples, samples };
  }
}
