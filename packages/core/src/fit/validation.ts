import { scalar, slice, tidy, zeros, type Scalar, type Tensor } from '@tensorflow/tfjs-core';
import { splitRows } from '@acc/data';
import { patch, type ModelInternals, type StepFunction, type Undo } from '@acc/tfjs-internals';
import { reduceScalars } from './reduce-scalars.js';
import type { FitContext } from './shard-fit.js';

/** The current validation of `fit` or `fitDataset`. A separate `evaluate` runs on one rank alone. */
export interface Validation {
  /** The function with which `fit` evaluates its validation rows. */
  testFunction: StepFunction | null;
  /** The `validationData` of `fitDataset`. */
  data: unknown;
}

/** Divides validation over ranks. Every rank gets the results for all rows. */
export function shardValidation(
  model: ModelInternals,
  context: FitContext,
  validation: Validation,
  forModel: <T>(fn: () => T) => T,
): Undo {
  const undos = [
    patch(model, 'testLoop', (own) => (f, ins, ...rest) => {
      const run = (rows: Tensor[]) => own.call(model, f, rows, ...rest);
      return f === validation.testFunction ? forModel(() => evaluateRows(run, ins, context)) : run(ins);
    }),
    patch(model, 'evaluate', (own) => (x, y, args) => {
      const isValidation = Array.isArray(validation.data) && validation.data[0] === x;
      if (!isValidation) return own.call(model, x, y, args);
      // makeTestFunction runs inside evaluate, so the function that it creates is known only in
      // testLoop.
      const undo = patch(model, 'makeTestFunction', (make) => () => {
        make.call(model);
        validation.testFunction = model.testFunction;
      });
      try {
        return own.call(model, x, y, args);
      } finally {
        undo();
        validation.testFunction = null;
      }
    }),
    patch(
      model,
      'evaluateDataset',
      (own) => (dataset, args) =>
        dataset === validation.data
          ? evaluateBatches(dataset as object, context, {
              outputs: model.metricsNames.length,
              evaluate: (shard) => own.call(model, shard, args),
              forModel,
            })
          : own.call(model, dataset, args),
    ),
  ];
  return () => {
    for (const undo of undos) undo();
  };
}

/** The mean over all rows. Each rank evaluates a share of them. */
function evaluateRows(
  evaluate: (ins: Tensor[]) => Scalar[],
  ins: Tensor[],
  { dataRanks }: FitContext,
): Scalar[] {
  const rows = ins[0]!.shape[0]!;
  const { start, count } = splitRows(rows, dataRanks.size)[dataRanks.rank]!;
  // A rank without a row evaluates one row with weight 0.
  const own = ins.map((column) => slice(column, Math.min(start, rows - 1), Math.max(count, 1)));
  const outs = evaluate(own);
  for (const column of own) column.dispose();
  return reduceScalars(outs, count / rows, dataRanks);
}

interface DatasetEvaluation {
  /** The number of results. */
  readonly outputs: number;
  evaluate(shard: object): Promise<Scalar | Scalar[]>;
  /** Runs collectives of all ranks for the model. */
  forModel<T>(fn: () => T): T;
}

/** The mean over all samples of a dataset. Each rank evaluates its batches. */
async function evaluateBatches(
  dataset: object,
  { dataRanks, shardValidation: shard }: FitContext,
  { outputs, evaluate, forModel }: DatasetEvaluation,
): Promise<Scalar[]> {
  let ownRows = 0;
  const batches = shard(dataset, (batch) => {
    ownRows += batch.rows[dataRanks.rank]!;
  });
  const means = await evaluate(batches.withResult());
  await batches.closeIterators();
  const own = ownRows > 0 ? [means].flat() : Array.from({ length: outputs }, () => zeros([]) as Scalar);
  return forModel(() => {
    const total = tidy(() => dataRanks.allReduce(scalar(ownRows), 'sum').dataSync()[0]!);
    return reduceScalars(own, ownRows / total, dataRanks);
  });
}
