// Trains one network by each stage of fsdp, by ddp and by one process, step by step on the same global batches.
import * as tf from '@tensorflow/tfjs';
import { Accelerator, checkpoint, lamb, type AcceleratorOptions } from '@acc/core';
import { disposeOptimizers } from '../../dispose-optimizers.js';

type FsdpOptions = NonNullable<AcceleratorOptions['fsdp']>;

export interface Trained {
  /** Of this rank's rows, for each micro-batch. */
  readonly losses: number[];
  /** Whole, after each step. */
  readonly weights: number[][];
  readonly leaked: number;
  readonly skipped: boolean[];
}

const ROWS = 12;
const STEPS = 6;

interface Kind {
  readonly options?: AcceleratorOptions;
  readonly optimizer?: () => tf.Optimizer;
  readonly isCheckpointed?: boolean;
  /** Whether the first layer is not trained. */
  readonly isFrozen?: boolean;
  readonly isBad?: (step: number) => boolean;
}

const KINDS = {
  adam: {},
  lamb: {
    optimizer: () =>
      lamb({ learningRate: 0.05, excludeFromLayerAdaptation: ['^b5'], excludeFromWeightDecay: ['^b'] }),
  },
  clipped: { options: { gradientClipping: { norm: 0.3 } } },
  clippedByValue: {
    options: { gradientClipping: { value: 0.02 } },
    optimizer: () => tf.train.momentum(0.1, 0.9),
  },
  accumulated: { options: { gradientAccumulationSteps: 3 }, optimizer: () => tf.train.momentum(0.1, 0.9) },
  checkpointed: { isCheckpointed: true },
  frozen: { isFrozen: true },
  bf16: { options: { mixedPrecision: 'bf16' }, optimizer: () => tf.train.momentum(0.1, 0.9) },
  skipped: {
    options: { mixedPrecision: 'fp16', amp: { lossScale: { initial: 1024 } } },
    isBad: (step: number) => step === 2,
  },
} satisfies Record<string, Kind>;

export type Case = keyof typeof KINDS;

const WAYS = {
  ddp: undefined,
  stage1: { stage: 1 },
  stage2: { stage: 'SHARD_GRAD_OP' },
  stage3: { bucketBytes: 1 },
  together: { stage: 'FULL_SHARD', reshardAfterForward: false, backwardPrefetch: 'post' },
  bySize: { wrap: { minParams: 30 }, backwardPrefetch: 'none', limitAllGathers: false },
} satisfies Record<string, FsdpOptions | undefined>;
export type Way = keyof typeof WAYS;

/** Ranks start from rank 0's values. */
function weightsOf(rank: number, isFrozen: boolean): tf.Variable[] {
  // The last variable is used by no loss, and the one before has fewer elements than there are ranks.
  const shapes = [[4, 7], [7], [7, 3], [3], [7, 7], [1], [5]];
  return shapes.map((shape, place) => {
    const size = shape.reduce((a, b) => a * b);
    const values = tf.sin(tf.range(0, size)).mul(0.5 + rank);
    const isTrained = !isFrozen || place > 1;
    return tf.variable(values.reshape(shape), isTrained, `${shape.length > 1 ? 'w' : 'b'}${place}`);
  });
}

async function train(kind: Kind, way: FsdpOptions | undefined): Promise<Trained> {
  const accelerator = await Accelerator.create({
    ...kind.options,
    ...(way && { strategy: 'fsdp', fsdp: way }),
  });
  const { processIndex: rank, numProcesses: size } = accelerator;
  const weights = weightsOf(rank, kind.isFrozen ?? false);
  const [w1, b1, w2, b2, shared, scale] = weights as [
    tf.Variable<tf.Rank.R2>,
    tf.Variable,
    tf.Variable<tf.Rank.R2>,
    tf.Variable,
    tf.Variable<tf.Rank.R2>,
    tf.Variable,
  ];
  const optimizer = kind.optimizer?.() ?? tf.train.adam(0.02);
  accelerator.prepare(weights, optimizer);

  const wrapped = <R extends tf.Tensor>(layer: (x: tf.Tensor) => R, x: tf.Tensor) =>
    kind.isCheckpointed ? checkpoint(layer, [x]) : layer(x);
  // `shared` is used twice: at the beginning of the second layer, and at its end.
  const hidden = (x: tf.Tensor) =>
    tf.tanh(tf.add(tf.matMul(tf.tanh(tf.add(tf.matMul(x as tf.Tensor2D, w1), b1)), shared), scale));
  const output = (x: tf.Tensor) =>
    tf.add(tf.matMul(tf.matMul(x as tf.Tensor2D, shared, false, true), w2), b2);
  const batch = (step: number) => {
    const rows = ROWS / size;
    return tf
      .sin(tf.range(0, ROWS * 4).add(step * 50))
      .reshape([ROWS, 4])
      .slice(rank * rows, rows);
  };
  const lossOf = (x: tf.Tensor, isBad: boolean) => () => {
    const loss = wrapped(output, wrapped(hidden, x)).sub(1).square().mean() as tf.Scalar;
    // The last element of all lies in one rank's shard only.
    return isBad ? (loss.add(b2.slice(2, 1).sum().mul(Infinity)) as tf.Scalar) : loss;
  };
  const read = () => weights.flatMap((weight) => [...weight.dataSync()]);

  const trained: Trained = { losses: [], weights: [], skipped: [], leaked: 0 };
  let before = 0;
  for (let step = 0; step < STEPS; step++) {
    if (step === 3) before = tf.memory().numTensors;
    tf.tidy(() => {
      const loss = lossOf(batch(step), kind.isBad?.(step) ?? false);
      const minimize = () => optimizer.minimize(loss, true, weights)!;
      const cost = kind.options?.gradientAccumulationSteps ? accelerator.accumulate(minimize) : minimize();
      trained.losses.push(cost.dataSync()[0]!);
    });
    trained.skipped.push(accelerator.optimizerStepWasSkipped);
    trained.weights.push(read());
  }
  const leaked = tf.memory().numTensors - before;
  accelerator.freeMemory(...weights, optimizer);
  disposeOptimizers(optimizer);
  tf.dispose(weights);
  return { ...trained, leaked };
}

export interface Fitted {
  readonly losses: number[];
  readonly validated: number[];
  readonly predicted: number[];
  readonly weights: number[][];
}

/** A LayersModel with a model inside, an embedding and moving statistics, by `fit`. */
async function fit(way: FsdpOptions | undefined): Promise<Fitted> {
  const accelerator = await Accelerator.create({ ...(way && { strategy: 'fsdp', fsdp: way }) });
  const { processIndex: rank } = accelerator;
  const dense = (units: number, seed: number, inputShape?: number[], trainable = true) =>
    tf.layers.dense({
      units,
      trainable,
      kernelInitializer: tf.initializers.glorotUniform({ seed: seed + rank }),
      ...(inputShape && { inputShape }),
    });
  const inner = tf.sequential({ layers: [dense(6, 1, [8]), tf.layers.batchNormalization(), dense(5, 2)] });
  const model = tf.sequential({
    layers: [
      tf.layers.embedding({
        inputDim: 11,
        outputDim: 4,
        inputLength: 2,
        embeddingsInitializer: tf.initializers.randomUniform({ seed: 3 + rank }),
      }),
      tf.layers.flatten(),
      inner,
      dense(5, 6, undefined, false),
      dense(1, 4),
    ],
  });
  model.compile({ optimizer: tf.train.adam(0.05), loss: 'meanSquaredError' });
  accelerator.prepare(model);
  const xs = tf.tensor2d(
    Array.from({ length: 48 }, (_, i) => (i * 7) % 11),
    [24, 2],
    'int32',
  );
  const ys = tf.tensor2d(
    Array.from({ length: 24 }, (_, i) => Math.sin(i)),
    [24, 1],
  );
  const { history } = await model.fit(xs, ys, {
    epochs: 3,
    batchSize: 12 / accelerator.numProcesses,
    shuffle: false,
    verbose: 0,
    validationData: [xs, ys],
  });
  const predicted = tf.tidy(() => [...(model.predict(xs) as tf.Tensor).dataSync()]);
  const weights = model.getWeights().map((weight) => [...weight.dataSync()]);
  accelerator.freeMemory(model);
  tf.dispose([xs, ys]);
  return {
    losses: history['loss'] as number[],
    validated: history['val_loss'] as number[],
    predicted,
    weights,
  };
}

export interface Result {
  readonly cases: Record<Case, Record<Way, Trained>>;
  readonly fitted: Record<Way, Fitted>;
}

export default async function steps(): Promise<Result> {
  const result = { cases: {} as Result['cases'], fitted: {} as Result['fitted'] };
  const ways = Object.entries(WAYS) as [Way, FsdpOptions | undefined][];
  for (const kind of Object.keys(KINDS) as Case[]) {
    result.cases[kind] = {} as Record<Way, Trained>;
    for (const [name, way] of ways) result.cases[kind][name] = await train(KINDS[kind], way);
  }
  for (const [name, way] of ways) result.fitted[name] = await fit(way);
  tf.disposeVariables();
  return result;
}
