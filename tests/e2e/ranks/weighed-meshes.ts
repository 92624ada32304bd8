// Trains small models with a mean over tokens, whose number differs between ranks, micro-batches and
// steps of a window. Some ranks have no token in some batches. Argument: the ways. Returns
// losses and whole weights by way.
import * as tf from '@tensorflow/tfjs';
import type { RankPlace } from '@acc/contract';
import { Accelerator, DataLoader, setSeed } from '@acc/core';
import { gpt2, moe, tokenEmbedding } from '@acc/transformer';
import { disposeOptimizers } from '../dispose-optimizers.js';

export interface Way {
  readonly model: 'gpt2' | 'moe' | 'norm';
  readonly mesh?: Readonly<Record<string, number>>;
  readonly steps: number;
  /** Takes steps in stages, each of so many micro-batches. */
  readonly microBatches?: number;
  /** The loss is the mean of its rows, and their numbers differ between ranks. */
  readonly isMean?: boolean;
}

export interface Trained {
  readonly losses: number[];
  readonly weights: number[][];
}

const VOCABULARY = 32;
const LENGTH = 8;
/** A target that is not counted. */
const PADDING = VOCABULARY;
const BATCHES = 4;

/** Whether a token counts. Batch 1: the end of sequences only. Batch 2: the first rows only. */
function counts(batch: number, row: number, position: number): boolean {
  const end = [2, 8, 5, 4, 6, 3, 7, 8][row]!;
  if (batch === 1) return position >= LENGTH / 2;
  if (batch === 2) return row < 4 && position < end;
  return position < (batch === 0 ? end : end / 2);
}

/** The rows of each batch: 7 are divided into 4 and 3. */
function batchesOf(rows: number): Batch[] {
  return Array.from({ length: BATCHES }, (_, batch) => {
    const tokens = (from: number) =>
      Array.from({ length: rows }, (_, row) =>
        Array.from(
          { length: LENGTH },
          (_, i) => (((batch * 71 + row * 13 + (i + from) * 7) ** 2) >> 2) % VOCABULARY,
        ),
      );
    const targets = tokens(1).map((ofRow, row) =>
      ofRow.map((token, i) => (counts(batch, row, i) ? token : PADDING)),
    );
    return { x: tf.tensor2d(tokens(0), undefined, 'int32'), y: tf.tensor2d(targets, undefined, 'int32') };
  });
}

interface Batch {
  readonly x: tf.Tensor2D;
  readonly y: tf.Tensor2D;
}

function createModel(kind: Way['model']): tf.LayersModel {
  if (kind === 'gpt2') {
    const sizes = { vocab_size: VOCABULARY, n_positions: LENGTH, n_embd: 16, n_layer: 2, n_head: 2 };
    return gpt2({ ...sizes, initializer_range: 0.3, resid_pdrop: 0, embd_pdrop: 0, attn_pdrop: 0 });
  }
  const input = tf.input({ shape: [LENGTH], dtype: 'int32' });
  const embedded = tokenEmbedding({ vocabularySize: VOCABULARY, units: 8, name: 'embedding' }).apply(input);
  const layer =
    kind === 'norm'
      ? tf.layers.batchNormalization({ name: 'norm' })
      : moe({ experts: 4, topK: 2, balanceLoss: 0, zLoss: 0, name: 'moe', innerUnits: 8 });
  const hidden = layer.apply(embedded as tf.SymbolicTensor) as tf.SymbolicTensor;
  const head = tf.layers.dense({ units: VOCABULARY, name: 'head' });
  return tf.model({ inputs: input, outputs: head.apply(hidden) as tf.SymbolicTensor });
}

/** The sum of the cross-entropies that count, and their number. */
function sumOf(y: tf.Tensor, logits: tf.Tensor) {
  const NONE = tf.Reduction.NONE;
  const each = tf.losses.softmaxCrossEntropy(
    tf.oneHot(y.toInt(), VOCABULARY),
    logits,
    undefined,
    undefined,
    NONE,
  );
  const isCounted = y.less(PADDING).toFloat();
  return { each, sum: each.mul(isCounted).sum().asScalar(), count: isCounted.sum() };
}

async function train({ model: kind, mesh, steps, microBatches, isMean = false }: Way): Promise<Trained> {
  const accelerator = await Accelerator.create({
    gradientAccumulationSteps: steps,
    dataLoader: { splitBatches: true, evenBatches: false },
    ...(mesh && { mesh }),
    ...(mesh?.data && kind === 'norm' && { ddp: { syncBatchNorm: true } }),
  });
  setSeed(3);
  const own = createModel(kind);
  const batches = batchesOf(isMean ? 7 : 8);
  const columns = { x: tf.concat(batches.map(({ x }) => x)), y: tf.concat(batches.map(({ y }) => y)) };
  const loader = new DataLoader(columns, { batchSize: isMean ? 7 : 8, shuffle: false });
  const [model, optimizer, data] = accelerator.prepare(own, tf.train.sgd(0.4), loader);
  const loss = (y: tf.Tensor, logits: tf.Tensor) => {
    const { each, sum, count } = sumOf(y, logits);
    return isMean
      ? each.mean().asScalar()
      : accelerator.weighLoss(sum.div(count.maximum(1)).asScalar(), count);
  };
  const pipelined = microBatches && accelerator.pipelined(model, loss, { microBatches });
  const step = (x: tf.Tensor, y: tf.Tensor) =>
    pipelined
      ? pipelined(x, y)
      : optimizer.minimize(() => loss(y, model.apply(x, { training: true }) as tf.Tensor), true)!;
  const losses: number[] = [];
  for (let epoch = 0; epoch < 2; epoch++) {
    for await (const { x, y } of data as AsyncIterable<Batch>) {
      const mean = accelerator.accumulate(() => step(x, y)).dataSync()[0]!;
      const items = isMean ? y.size : y.less(PADDING).sum().dataSync()[0]!;
      const all = accelerator.reduce(tf.tensor1d([mean * items, items]), 'sum').dataSync();
      losses.push(all[0]! / all[1]!);
      tf.dispose([x, y]);
    }
  }
  const weights = Object.values(accelerator.getStateDict(model)).map((w) => [...w.dataSync()]);
  accelerator.freeMemory();
  disposeOptimizers(optimizer);
  own.dispose();
  return { losses, weights };
}

/** One step of plain tfjs for each window, from the sum over all its tokens. */
function trainPlain({ model: kind, steps, isMean }: Way): Trained {
  setSeed(3);
  const model = createModel(kind);
  const optimizer = tf.train.sgd(0.4);
  const batches = batchesOf(isMean ? 7 : 8);
  const losses: number[] = [];
  for (let done = 0; done < 2 * BATCHES; done += steps) {
    optimizer.minimize(() => {
      const parts = Array.from({ length: steps }, (_, i) => {
        const { x, y } = batches[(done + i) % BATCHES]!;
        const { each, sum, count } = sumOf(y, model.apply(x, { training: true }) as tf.Tensor);
        return isMean ? { sum: each.sum(), count: tf.scalar(each.size) } : { sum, count };
      });
      for (const { sum, count } of parts) losses.push(sum.div(count).dataSync()[0]!);
      const [sums, counted] = [parts.map(({ sum }) => sum), parts.map(({ count }) => count)];
      return tf.addN(sums).div(tf.addN(counted)).asScalar();
    });
  }
  const weights = model.weights.map((w) => [...w.read().dataSync()]);
  optimizer.dispose();
  model.dispose();
  return { losses, weights };
}

export default async function weighedMeshes(
  ways: Readonly<Record<string, Way>>,
  { size }: RankPlace,
): Promise<Record<string, Trained>> {
  const results: Record<string, Trained> = {};
  if (size === 1) {
    for (const [name, way] of Object.entries(ways)) results[`plain ${name}`] = trainPlain(way);
  }
  for (const [name, way] of Object.entries(ways)) results[name] = await train(way);
  return results;
}
