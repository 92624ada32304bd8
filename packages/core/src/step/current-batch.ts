import { rowCountsOf, sampleShares, samplesOf, type BatchRows, type PassRanks } from './batch-rows.js';
import type { StepRanks } from './step-ranks.js';

/** The batch that the running step computes, and this rank's weight in it. */
export class CurrentBatch {
  readonly #ranks: StepRanks;

  /** The last batch of prepared data. Undefined in a loop with other data. */
  rows: BatchRows | undefined;

  constructor(ranks: StepRanks) {
    this.#ranks = ranks;
  }

  /** This rank's share of the samples, which weights losses and metrics. */
  get share(): number {
    const { dataRanks, countRanks } = this.#ranks;
    return this.rows ? sampleShares(this.rows)[dataRanks.rank]! / this.shards : 1 / countRanks();
  }

  /** See {@link rowCountsOf}. */
  get rowCounts(): ReturnType<typeof rowCountsOf> {
    return rowCountsOf(this.rows, this.passRanks);
  }

  get passRanks(): PassRanks {
    const { dataRanks, countRanks } = this.#ranks;
    return { rank: dataRanks.rank, countRanks, shards: this.shards };
  }

  /** The number of ranks that share each row of the batch, with a shard of equal length each. */
  get shards(): number {
    const { dataRanks, gradientRanks } = this.#ranks;
    return gradientRanks.size / dataRanks.size;
  }

  /** The number of samples on all ranks. Undefined in a loop with other data. */
  get samples(): number | undefined {
    return samplesOf(this.rows);
  }

  /** The number of samples of this rank. Undefined in a loop with other data. */
  get ownSamples(): number | undefined {
    return this.rows?.realRows[this.#ranks.dataRanks.rank];
  }
}
