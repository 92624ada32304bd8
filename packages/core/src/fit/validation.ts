import { scalar, tidy, zeros, type Scalar } from '@tensorflow/tfjs-core';
import type { Collective } from '@acc/contract';
import { patch, type ModelInternals, type Undo } from '@acc/tfjs-internals';
import type { FitContext, Validation } from './fit-context.js';
import { reduceScalars } from './reduce-scalars.js';

/** The ranks of a validation. */
export interface ValidationRanks {
  /** The place of this rank among those that share the rows. */
  readonly rows: { readonly rank: number; readonly size: number };
  /** The ranks whose results are averaged: those with other rows, or with other shards of rows. */
  readonly over: Collective;
  /** Runs collectives of all ranks for the model. */
  forModel<T>(fn: () => T): T;
}

/**
 * Makes `evaluateDataset` give every rank the results for all samples of prepared data, and of the
 * validation data of `fitDataset`. Other data is evaluated on one rank alone.
 */
export function shardEvaluation(
  model: ModelInternals,
  context: FitContext,
  validation: Validation,
  ranks: ValidationRanks,
): Undo {
  return patch(model, 'evaluateDataset', 'validation', (own) => (dataset, args) => {
    const isDivided = dataset === validation.data && ranks.over.size > 1;
    if (!isDivided && !context.isPrepared(dataset as object)) return own.call(model, dataset, args);
    // The first batches of the data are not those of the first batches of each rank.
    const rows = args?.batches === undefined ? ranks.rows : { rank: 0, size: 1 };
    return evaluateBatches(dataset as object, context, {
      outputs: model.metricsNames.length,
      evaluate: (shard) => own.call(model, shard, args),
      ranks: { ...ranks, rows },
    });
  });
}

interface DatasetEvaluation {
  /** The number of results. */
  readonly outputs: number;
  evaluate(shard: object): Promise<Scalar | Scalar[]>;
  readonly ranks: ValidationRanks;
}

/** The mean over all samples of a dataset. Each rank evaluates its batches. */
async function evaluateBatches(
  dataset: object,
  { shardValidation: shard }: FitContext,
  { outputs, evaluate, ranks: { rows: place, over, forModel } }: DatasetEvaluation,
): Promise<Scalar[]> {
  let localRows = 0;
  const batches = shard(dataset, place, (batch) => {
    localRows += batch.rows[place.rank]!;
  });
  const means = await evaluate(batches.withResult());
  await batches.closeIterators();
  const own = localRows > 0 ? [means].flat() : Array.from({ length: outputs }, () => zeros([]) as Scalar);
  return forModel(() => {
    const total = tidy(() => over.allReduce(scalar(localRows), 'sum').dataSync()[0]!);
    return reduceScalars(own, localRows / total, over);
  });
}
