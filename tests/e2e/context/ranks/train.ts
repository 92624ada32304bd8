// Trains small transformers on pieces of sequences. Returns for each way what all ranks have: losses,
// weights, metrics and text.
import * as tf from '@tensorflow/tfjs';
import { Accelerator, DataLoader, setSeed, type AcceleratorOptions } from '@acc/core';
import { generate, gpt2, llama } from '@acc/transformer';
import { disposeOptimizers } from '../../dispose-optimizers.js';
import { GPT2, LLAMA, tokensOf } from '../../transformer/models.js';

export interface Trained {
  readonly losses: number[];
  readonly weights: Readonly<Record<string, number[]>>;
  /** The tokens that the model finds most probable, `[rows, length]`. */
  readonly best: number[][];
  readonly text: number[][];
  readonly leaked: number;
}

interface Way extends AcceleratorOptions {
  readonly model?: 'llama';
  /** The loop: prepared data (default), the same compiled, or `fit`. */
  readonly loop?: 'compiled' | 'fit' | 'fitDataset';
  /** Whether the loss is a mean over the tokens that are not padding. */
  readonly weighs?: boolean;
}

const STEPS = 10;
const ROWS = 4;
const LENGTH = 12;

const WAYS: Readonly<Record<string, Way>> = {
  auto: {},
  llama: {
    model: 'llama',
    context: { attention: 'ring' },
    gradientClipping: { norm: 0.5 },
    gradientAccumulationSteps: 2,
    checkpointEvery: 1,
  },
  'llama by heads': { model: 'llama', context: { attention: 'auto' } },
  weighed: { weighs: true },
  compiled: { loop: 'compiled' },
  'compiled in a ring': { loop: 'compiled', context: { attention: 'ring' } },
  bf16: { mixedPrecision: 'bf16', context: { attention: 'ring' } },
  fsdp: { strategy: 'fsdp', fsdp: { bucketBytes: 4096 }, loop: 'fit' },
  fit: { loop: 'fit' },
  fitDataset: { loop: 'fitDataset' },
};

export interface Args {
  readonly mesh: Readonly<Record<string, number>>;
  /** The names of ways. */
  readonly names: readonly string[];
}

export default async function trainAll({ mesh, names }: Args): Promise<Record<string, Trained>> {
  const results: Record<string, Trained> = {};
  for (const name of names) results[name] = await train(WAYS[name]!, mesh);
  return results;
}

type Batch = Record<'x' | 'y', tf.Tensor2D>;

/** The mean cross-entropy of this rank's tokens. */
function lossOf(logits: tf.Tensor, y: tf.Tensor2D, accelerator?: Accelerator): tf.Scalar {
  const vocabulary = logits.shape.at(-1)!;
  const hot = tf.reshape(tf.oneHot(y, vocabulary), [-1, vocabulary]);
  const each = tf.losses.softmaxCrossEntropy(
    hot,
    tf.reshape(logits, [-1, vocabulary]),
    undefined,
    undefined,
    tf.Reduction.NONE,
  );
  if (!accelerator) return tf.mean(each);
  const isText = tf.cast(tf.less(tf.reshape(y, [-1]), 30), 'float32');
  const count = tf.sum(isText);
  return accelerator.weighLoss(
    tf.div(tf.sum(tf.mul(each, isText)), tf.maximum(count, 1)) as tf.Scalar,
    count,
  );
}

interface Run {
  readonly accelerator: Accelerator;
  readonly model: tf.LayersModel;
  readonly way: Way;
  readonly x: tf.Tensor2D;
  readonly y: tf.Tensor2D;
}

async function train(way: Way, mesh: Args['mesh']): Promise<Trained> {
  const { model: kind, loop, weighs: _, ...options } = way;
  const dataLoader = { splitBatches: true, shuffle: false };
  const own = options.strategy === 'fsdp' && !mesh['context'] ? { fsdp: mesh['data'] ?? 1 } : mesh;
  const accelerator = await Accelerator.create({ dataLoader, mesh: own, ...options });
  setSeed(5);
  const model = kind
    ? llama({ ...LLAMA, initializer_range: 0.2 })
    : gpt2({ ...GPT2, initializer_range: 0.2 });
  const rows = tokensOf(STEPS * ROWS, LENGTH + 1, 60);
  const [x, y] = [0, 1].map((from) =>
    tf.tensor2d(
      rows.map((row) => row.slice(from, LENGTH + from)),
      undefined,
      'int32',
    ),
  );
  const run: Run = { accelerator, model, way, x: x!, y: y! };
  const { losses, leaked } = loop === 'fit' || loop === 'fitDataset' ? await fit(run) : await ownLoop(run);
  const best = !loop && !kind ? await bestTokens(run) : [];
  const text = generate(model, tokensOf(2, 4, 60), { maxNewTokens: 6 }).arraySync();
  const state = Object.entries(accelerator.getStateDict(model));
  const weights = Object.fromEntries(state.map(([name, value]) => [name, Array.from(value.dataSync())]));
  accelerator.freeMemory(model);
  tf.disposeVariables();
  return { losses, weights, best, text, leaked };
}

type Losses = Pick<Trained, 'losses' | 'leaked'>;

/** The last loss is that of validation, on 5 rows. */
async function fit({ accelerator, model, way, x, y }: Run): Promise<Losses> {
  const losses: number[] = [];
  const loss = (labels: tf.Tensor, logits: tf.Tensor) => tf.losses.softmaxCrossEntropy(labels, logits);
  model.compile({ optimizer: tf.train.sgd(0.2), loss });
  accelerator.prepare(model);
  const onBatchEnd = (_: number, logs?: tf.Logs) => void losses.push(logs!['loss']!);
  const settings = { epochs: 1, verbose: 0 as const, callbacks: { onBatchEnd } };
  const hot = tf.oneHot(y, GPT2.vocab_size, 1, 0, 'float32');
  const [xs, ys] = [tf.slice(x, [3, 0], [5, -1]), tf.slice(hot, [3, 0, 0], [5, -1, -1])];
  const fitTensors = () => {
    const validationData: [tf.Tensor, tf.Tensor] = [xs, ys];
    return model.fit(x, hot, { ...settings, batchSize: ROWS, shuffle: false, validationData });
  };
  const fitBatches = () => {
    const samples = { xs: tf.data.array(x.arraySync()), ys: tf.data.array(hot.arraySync() as number[][][]) };
    const dataset = tf.data.zip(samples as never).batch(ROWS) as tf.data.Dataset<never>;
    const validationData = tf.data.array([{ xs, ys }]) as tf.data.Dataset<never>;
    return model.fitDataset(dataset, { ...settings, validationData });
  };
  const { history } = await (way.loop === 'fit' ? fitTensors() : fitBatches());
  losses.push(history['val_loss']![0] as number);
  disposeOptimizers(model.optimizer);
  return { losses, leaked: 0 };
}

async function ownLoop({ accelerator, model, way, x, y }: Run): Promise<Losses> {
  const losses: number[] = [];
  let leaked = 0;
  const loader = new DataLoader({ x, y }, { batchSize: ROWS });
  const [, optimizer, data] = accelerator.prepare(model, tf.train.sgd(0.2), loader);
  const lossOn = (own: tf.Tensor2D, labels: tf.Tensor2D) =>
    lossOf(model.apply(own) as tf.Tensor, labels, way.weighs ? accelerator : undefined);
  const step = (own: tf.Tensor2D, labels: tf.Tensor2D) =>
    optimizer.minimize(() => lossOn(own, labels), true)!;
  const used = way.loop === 'compiled' ? accelerator.compile(step) : step;
  for await (const batch of data as AsyncIterable<Batch>) {
    if (batch.x.shape[1] !== LENGTH / accelerator.mesh.size('context')) throw new Error('not a piece');
    const { numTensors } = tf.memory();
    const mean = tf.tidy(() => {
      const run = () => used(batch.x, batch.y) as tf.Tensor;
      return accelerator.reduce(way.gradientAccumulationSteps ? accelerator.accumulate(run) : run(), 'mean');
    });
    losses.push(mean.dataSync()[0]!);
    mean.dispose();
    if (losses.length > 2) leaked += tf.memory().numTensors - numTensors;
    tf.dispose(batch);
  }
  disposeOptimizers(optimizer);
  return { losses, leaked };
}

async function bestTokens({ accelerator, model, x }: Run): Promise<number[][]> {
  const best: number[][] = [];
  const loader = new DataLoader({ x: tf.slice(x, [0, 0], [6, -1]) }, { batchSize: ROWS });
  for await (const batch of accelerator.prepare(loader)) {
    const found = tf.argMax(model.predict((batch as Batch).x) as tf.Tensor, -1);
    best.push(...(accelerator.gatherForMetrics(found).arraySync() as number[][]));
  }
  return best;
}
