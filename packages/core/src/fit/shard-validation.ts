import { slice, tidy, type Scalar, type Tensor } from '@tensorflow/tfjs-core';
import { shardOf, splitRows } from '@acc/data';
import { patch, type ModelInternals, type Undo } from '@acc/tfjs-internals';
import { reduceScalars } from './reduce-scalars.js';
import type { FitContext, Validation } from './fit-context.js';
import type { ValidationRanks } from './validation.js';

/** Divides validation over ranks. Every rank gets the results for all rows. */
export function shardValidation(
  model: ModelInternals,
  context: FitContext,
  validation: Validation,
  ranks: ValidationRanks,
): Undo {
  const { forModel } = ranks;
  const undos = [
    patch(model, 'testLoop', 'validation', (own) => (f, ins, ...rest) => {
      const run = (rows: Tensor[]) => own.call(model, f, rows, ...rest);
      return f === validation.testFunction
        ? forModel(() => evaluateRows(run, ins, context, ranks))
        : run(ins);
    }),
    patch(model, 'evaluate', 'validation', (own) => (x, y, args) => {
      const isValidation = Array.isArray(validation.data) && validation.data[0] === x;
      if (!isValidation) return own.call(model, x, y, args);
      // makeTestFunction runs inside evaluate, so the function that it creates is known only in
      // testLoop.
      const undo = patch(model, 'makeTestFunction', 'validation', (make) => () => {
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
  ];
  return () => {
    for (const undo of undos) undo();
  };
}

/** The mean over all rows. Each rank evaluates a share of them, or its shards of a share. */
function evaluateRows(
  evaluate: (ins: Tensor[]) => Scalar[],
  ins: Tensor[],
  { sequence }: FitContext,
  { rows: place, over }: ValidationRanks,
): Scalar[] {
  const rows = ins[0]!.shape[0]!;
  const { start, count } = splitRows(rows, place.size)[place.rank]!;
  // A rank without a row evaluates one row with weight 0.
  const take = (column: Tensor) => slice(column, Math.min(start, rows - 1), Math.max(count, 1));
  const own = ins.map((column) => (sequence ? tidy(() => shardOf(take(column), sequence)) : take(column)));
  const outs = evaluate(own);
  for (const column of own) column.dispose();
  const shards = over.size / place.size;
  return reduceScalars(outs, count / rows / shards, over);
}
