import { cast, notEqual, Reduction, sum, tensor, Tensor, tidy, util } from '@tensorflow/tfjs-core';
import type { LossWeight } from '@acc/pipeline';
import { gradientDepth, lossTable, patch } from '@acc/tfjs-internals';

/**
 * The positions of the arguments `weights` and `reduction` of a loss function. `elements` gives the
 * number of elements of the predictions that make one loss.
 */
interface Signature {
  readonly weights: number;
  readonly reduction: number;
  readonly elements?: (predictions: Tensor, args: readonly unknown[]) => number;
}

const PLAIN: Signature = { weights: 2, reduction: 3 };
const WITH_NUMBER: Signature = { weights: 2, reduction: 4 };

const SIGNATURES: Readonly<Record<string, Signature>> = {
  absoluteDifference: PLAIN,
  computeWeightedLoss: { weights: 1, reduction: 2 },
  cosineDistance: { weights: 3, reduction: 4, elements: ({ shape }, args) => shape[axisOf(shape, args[2])]! },
  hingeLoss: PLAIN,
  huberLoss: WITH_NUMBER,
  logLoss: WITH_NUMBER,
  meanSquaredError: PLAIN,
  sigmoidCrossEntropy: WITH_NUMBER,
  softmaxCrossEntropy: { ...WITH_NUMBER, elements: ({ shape }) => shape.at(-1)! },
};

const axisOf = (shape: readonly number[], axis: unknown) => ((axis as number) + shape.length) % shape.length;

/**
 * Makes `tf.losses` report the weight of results that are not means over rows. A loss with weights
 * is the mean over the nonzero weights, or over the sum of the weights. A loss reduced by SUM is a
 * sum. Returns a function that restores `tf.losses`.
 */
export function watchLosses(onLoss: (loss: Tensor, weight: LossWeight) => void): () => void {
  const table = lossTable();
  const undos = Object.entries(SIGNATURES).map(([name, signature]) =>
    patch(table, name, 'losses', (own) => (...args) => {
      const loss = own(...args);
      // Only losses inside one level of gradients are reduced over ranks. Other losses are ignored.
      if (gradientDepth() !== 1) return loss;
      const weight = weightOf(args, signature);
      if (weight) onLoss(loss, weight);
      return loss;
    }),
  );
  return () => {
    for (const undo of undos) undo();
  };
}

function weightOf(args: readonly unknown[], signature: Signature): LossWeight | undefined {
  const reduction = (args[signature.reduction] ?? Reduction.SUM_BY_NONZERO_WEIGHTS) as Reduction;
  const weights = args[signature.weights] as Tensor | number[] | number | null | undefined;
  if (reduction === Reduction.SUM) return 'sum';
  if (weights == null || reduction === Reduction.NONE) return undefined;
  const [predictions] = args.slice(0, 2).reverse();
  const items = tidy(() => {
    const given = weights instanceof Tensor ? weights : tensor(weights);
    const counted = reduction === Reduction.MEAN ? given : cast(notEqual(given, 0), 'float32');
    // tfjs broadcasts the weights to all losses.
    const perWeight = lossesOf(predictions, args, signature) / given.size;
    return sum(counted).dataSync()[0]! * perWeight;
  });
  return items >= 0 && Number.isFinite(items) ? { items } : undefined;
}

function lossesOf(value: unknown, args: readonly unknown[], { weights, elements }: Signature): number {
  const predictions = (weights === 1 ? args[0] : value) as Tensor | number[];
  const x = predictions instanceof Tensor ? predictions : tensor(predictions);
  return util.sizeFromShape(x.shape) / (elements?.(x, args) ?? 1);
}
