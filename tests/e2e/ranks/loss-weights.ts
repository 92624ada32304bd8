// Trains with losses that are not means over rows, in each way that a program can. Reports weights
// and logs next to those of plain tfjs. Reports by tfjs backend (acc | cpu).
import * as tf from '@tensorflow/tfjs';
import { Accelerator } from '@acc/core';
import { disposeOptimizers } from '../dispose-optimizers.js';

const ROWS = 17;

/**
 * A column of weights beside the targets. It is 0 in some rows, for example in the whole second
 * half of the first batch.
 */
const maskOf = (row: number) => (row < 6 ? Number(row < 2) * 2 : row % 3);
const xs = () => tf.sin(tf.range(0, ROWS * 3)).reshape([ROWS, 3]) as tf.Tensor2D;
const ys = () => {
  const masks = tf.tensor2d(Array.from({ length: ROWS }, (_, row) => [maskOf(row)]));
  return tf.concat([tf.abs(tf.cos(tf.range(0, ROWS * 2).mul(0.7))).reshape([ROWS, 2]), masks], 1);
};
/** Batches of 6, 6 and 5 rows, which ranks divide unevenly. */
const batches = () =>
  [0, 6, 12].map((start) => {
    const rows = Math.min(6, ROWS - start);
    return { xs: xs().slice(start, rows), ys: ys().slice(start, rows) as tf.Tensor };
  });
const targetsOf = (y: tf.Tensor) => tf.slice(y, [0, 0], [-1, 2]);
const masksOf = (y: tf.Tensor) => tf.slice(y, [0, 2], [-1, 1]);

type Loss = (y: tf.Tensor, predicted: tf.Tensor) => tf.Tensor;
const { MEAN, SUM } = tf.Reduction;
const losses: Record<string, Loss> = {
  meanSquaredError: (y, p) => tf.losses.meanSquaredError(targetsOf(y), targetsOf(p), masksOf(y)),
  'absoluteDifference, MEAN': (y, p) =>
    tf.losses.absoluteDifference(targetsOf(y), targetsOf(p), masksOf(y), MEAN),
  'huberLoss, SUM': (y, p) => tf.losses.huberLoss(targetsOf(y), targetsOf(p), masksOf(y), 1, SUM),
  softmaxCrossEntropy: (y, p) =>
    tf.losses.softmaxCrossEntropy(targetsOf(y), targetsOf(p), masksOf(y).flatten()),
  'sigmoidCrossEntropy, MEAN': (y, p) =>
    tf.losses.sigmoidCrossEntropy(targetsOf(y), targetsOf(p), masksOf(y).tile([1, 2]), 0, MEAN),
  'computeWeightedLoss, scaled, with a penalty': (y, p) => {
    const errors = tf.squaredDifference(targetsOf(y), targetsOf(p));
    const penalty = tf.mul(0.01, tf.sum(tf.square(penalized!)));
    return tf.add(tf.mul(tf.losses.computeWeightedLoss(errors, masksOf(y)), 2), penalty);
  },
};
let penalized: tf.Variable | undefined;

function createModel(loss?: Loss, isSum = false): tf.Sequential {
  const kernelInitializer = tf.initializers.glorotNormal({ seed: 4 });
  // Each rank would add a penalty that is added to a sum.
  const kernelRegularizer = tf.regularizers.l2({ l2: 0.02 });
  const layer = tf.layers.dense({
    // There is one column more than is trained, because targets contain the weights.
    units: 3,
    inputShape: [3],
    kernelInitializer,
    ...(!isSum && { kernelRegularizer }),
    activation: 'sigmoid',
  });
  const model = tf.sequential({ layers: [layer] });
  if (loss) model.compile({ optimizer: tf.train.sgd(0.3), loss: loss as never });
  return model;
}

const weightsOf = (model: tf.Sequential) => model.getWeights().flatMap((w) => [...w.dataSync()]);

interface Batch {
  readonly xs: tf.Tensor;
  readonly ys: tf.Tensor;
}

interface Tools {
  prepare<T extends unknown[]>(...objects: T): T;
  /** This rank's part of a tensor's rows. */
  split<T>(rows: tf.Tensor, fn: (part: tf.Tensor) => T): T;
  weigh(loss: tf.Scalar, count: number | tf.Tensor): tf.Scalar;
}

async function byLoop(tools: Tools, loss: Loss): Promise<number[]> {
  const [model, optimizer, data] = tools.prepare(createModel(), tf.train.sgd(0.3), batches());
  penalized = model.layers[0]!.getWeights()[0] as tf.Variable;
  // A list in plain tfjs, prepared data otherwise.
  const steps = data as Iterable<Batch> | AsyncIterable<Batch>;
  for await (const { xs, ys } of steps) {
    optimizer.minimize(() => loss(ys, model.predict(xs) as tf.Tensor).asScalar());
  }
  disposeOptimizers(optimizer);
  return weightsOf(model);
}

async function byFit(tools: Tools, loss: Loss, isSum = false): Promise<number[]> {
  const [model] = tools.prepare(createModel(loss, isSum));
  const settings = { batchSize: 6, epochs: 2, shuffle: false, verbose: 0 };
  const { history } = await model.fit(xs(), ys(), settings);
  disposeOptimizers(model.optimizer);
  return [...weightsOf(model), ...(history['loss'] as number[])];
}

/** The mean over rows that are not masked. NaN if all rows are masked. */
const maskedMean = (y: tf.Tensor, p: tf.Tensor) => {
  const mask = tf.greater(masksOf(y), 0).toFloat();
  const count = tf.sum(mask);
  const errors = tf.mul(tf.mean(tf.squaredDifference(targetsOf(y), targetsOf(p)), 1, true), mask);
  return { mean: tf.div(tf.sum(errors), count).asScalar(), count };
};

async function run(tools: Tools): Promise<Record<string, number[]>> {
  const results: Record<string, number[]> = {};
  for (const [name, loss] of Object.entries(losses)) {
    results[`${name}, by a loop`] = await byLoop(tools, loss);
    if (!name.startsWith('computeWeightedLoss'))
      results[`${name}, by fit`] = await byFit(tools, loss, name.endsWith('SUM'));
  }
  const said: Loss = (y, p) => {
    const { mean, count } = maskedMean(y, p);
    return tools.weigh(mean, count);
  };
  results['weighLoss, by a loop'] = await byLoop(tools, said);
  results['weighLoss, by fit'] = await byFit(tools, said);
  for (const rows of [5, 1]) {
    const [model, optimizer] = tools.prepare(createModel(), tf.train.sgd(0.3));
    for (let step = 0; step < 3; step++) {
      const batch = tf.concat([xs(), targetsOf(ys())], 1).slice(step, rows);
      tools.split(batch, (part) => {
        const [x, y] = [part.slice([0, 0], [-1, 3]), part.slice([0, 3], [-1, 2])];
        optimizer.minimize(() =>
          tf.losses.meanSquaredError(y, targetsOf(model.apply(x) as tf.Tensor)).asScalar(),
        );
      });
    }
    disposeOptimizers(optimizer);
    results[`splitBetweenProcesses of ${rows}`] = weightsOf(model);
  }
  return results;
}

async function trainOn(backend: string, warnings: readonly string[]): Promise<object> {
  const accelerator = await Accelerator.create({
    dataLoader: { splitBatches: true },
    engine: backend === 'cpu' ? 'tfjs' : 'acc',
  });
  const tools: Tools = {
    prepare: (...objects) => [accelerator.prepare(...objects)].flat() as typeof objects,
    split: (rows, fn) => accelerator.splitBetweenProcesses(rows, fn),
    weigh: (loss, count) => accelerator.weighLoss(loss, count),
  };
  const said = warnings.length;
  const got = await run(tools);
  const before = warnings.length;
  // The weights are not declared: this causes one warning for all.
  await byLoop(tools, (y, p) => maskedMean(y, p).mean);
  await byFit(tools, (y, p) => tf.sqrt(tf.mean(tf.squaredDifference(targetsOf(y), targetsOf(p)))));
  const own = tf.losses.meanSquaredError;
  const { backendName } = accelerator;
  const localSizes = [6, 5].map((n) => accelerator.localBatchSize(n));
  accelerator.freeMemory();
  tf.disposeVariables();
  return {
    backend: backendName,
    got,
    localSizes,
    warnings: [warnings.slice(said, before), warnings.slice(before)],
    isRestored: own !== tf.losses.meanSquaredError || accelerator.numProcesses === 1,
  };
}

export default async function lossWeights(backends: readonly string[]): Promise<Record<string, object>> {
  await tf.setBackend('cpu');
  const plain = await run({
    prepare: (...objects) => objects,
    split: (rows, fn) => fn(rows),
    weigh: (loss) => loss,
  });
  const warnings: string[] = [];
  const { warn } = console;
  console.warn = (...given: unknown[]) => (warnings.push(given.join(' ')), warn(...given));
  const results: Record<string, object> = {};
  try {
    for (const backend of backends) {
      await tf.setBackend('cpu');
      results[backend] = { plain, ...(await trainOn(backend, warnings)) };
    }
  } finally {
    console.warn = warn;
  }
  await tf.setBackend('acc');
  return results;
}
