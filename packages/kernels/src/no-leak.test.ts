import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import * as tf from '@tensorflow/tfjs';
import { describe, expect, it } from 'vitest';
import { liveTensors, memoryStats, setNumThreads } from '@acc/native';
import type { AccBackend } from './backend.js';
import {
  dropout,
  gelu,
  layerNorm,
  rmsNorm,
  rotaryEmbedding,
  scaledDotProductAttention,
} from './functions/index.js';
import { registerAccBackend } from './register-backend.js';

const STEPS = 1000;

interface Counts {
  readonly numTensors: number;
  readonly numDataBuffers: number;
  readonly dataIds: number;
  readonly handles: number;
  readonly nativeBytes: number;
}

function counts(): Counts {
  const { numTensors, numDataBuffers } = tf.memory();
  return {
    numTensors,
    numDataBuffers,
    dataIds: (tf.backend() as AccBackend).numDataIds(),
    handles: liveTensors(),
    nativeBytes: memoryStats().allocatedBytes,
  };
}

/**
 * The kernels that training calls: an embedding, a convolution with batch norm and pooling, a dense
 * layer, dropout and softmax.
 */
function makeModel(): { step: () => number; dispose: () => void } {
  const variable = (make: () => tf.Tensor): tf.Variable => tf.tidy(() => tf.variable(make()));
  const random = (shape: number[], seed: number): tf.Variable =>
    variable(() => tf.randomNormal(shape, 0, 0.3, 'float32', seed));
  const [table, filter, dense] = [random([12, 8], 1), random([3, 3, 1, 4], 2), random([64, 5], 3)];
  const [offset, scale, bias] = [
    variable(() => tf.zeros([4])),
    variable(() => tf.ones([4])),
    variable(() => tf.zeros([5])),
  ];
  const variables = [table, filter, offset, scale, dense, bias];
  const optimizer = tf.train.adam(0.01);
  const tokens = tf.tensor2d(
    [
      [1, 2, 3, 1, 5, 6, 7, 8],
      [9, 10, 11, 0, 1, 1, 1, 2],
    ],
    [2, 8],
    'int32',
  );
  const labels = tf.tidy(() => tf.oneHot(tf.tensor1d([1, 4], 'int32'), 5));

  const loss = (): tf.Scalar => {
    const embedded = tf.expandDims(tf.gather(table, tokens), 3) as tf.Tensor4D;
    const features = tf.conv2d(embedded, filter as tf.Tensor4D, 1, 'same');
    const { mean, variance } = tf.moments(features, [0, 1, 2]);
    const normal = tf.batchNorm4d(
      features as tf.Tensor4D,
      mean as tf.Tensor1D,
      variance as tf.Tensor1D,
      offset as tf.Tensor1D,
      scale as tf.Tensor1D,
    );
    const pooled = tf.maxPool(tf.relu(normal) as tf.Tensor4D, 2, 2, 'same');
    const [left, right] = tf.split(tf.dropout(pooled, 0.2, undefined, 4), 2, 3);
    const flat = tf.reshape(tf.concat([left!, right!], 3), [2, -1]);
    const logits = tf.add(tf.matMul(flat as tf.Tensor2D, dense as tf.Tensor2D), bias);
    return tf.losses.softmaxCrossEntropy(labels, logits);
  };
  return {
    step: () => {
      const value = optimizer.minimize(loss, true, variables)!;
      const read = value.dataSync()[0]!;
      value.dispose();
      return read;
    },
    dispose: () => {
      tf.dispose([...variables, tokens, labels]);
      optimizer.dispose();
    },
  };
}

/** A block of attention with every function of this package. Half of the steps only predict. */
function stepOfFunctions(weights: readonly tf.Variable[], step: number): void {
  const [qkv, gain, bias] = weights as [tf.Variable, tf.Variable, tf.Variable];
  const loss = (): tf.Scalar => {
    const rows = layerNorm(tf.range(0, 96).sin().reshape([12, 8]), gain, bias);
    const [q, k, v] = tf
      .split(tf.matMul(rows, qkv), 3, -1)
      .map((part) => part.reshape([2, 6, 2, 4]).transpose<tf.Tensor4D>([0, 2, 1, 3])) as [
      tf.Tensor4D,
      tf.Tensor4D,
      tf.Tensor4D,
    ];
    const options = step % 4 < 2 ? { isCausal: true } : { mask: tf.ones([6, 6]), dropout: 0.1 };
    const mixed = scaledDotProductAttention(rotaryEmbedding(q), rotaryEmbedding(k), v, options);
    return rmsNorm(dropout(gelu(mixed), 0.1), null, { axis: [1, 3] })
      .square()
      .mean();
  };
  if (step % 2) {
    tf.dispose(Object.values(tf.variableGrads(loss, [...weights])));
  } else {
    tf.tidy(loss).dispose();
  }
}

describe('native memory', () => {
  it('is the same before and after steps of the functions', async () => {
    registerAccBackend();
    await tf.setBackend('acc');
    const weights = [tf.ones([8, 24]), tf.ones([8]), tf.zeros([8])].map((w) => tf.variable(w));
    for (let step = 0; step < 8; step++) stepOfFunctions(weights, step);
    const before = counts();
    for (let step = 0; step < 200; step++) stepOfFunctions(weights, step);
    expect(counts()).toEqual(before);
    tf.dispose(weights);
  });

  it(`is the same before and after ${STEPS} training steps, and nothing is left of the model`, async () => {
    registerAccBackend();
    await tf.setBackend('acc');
    // The tensors are tiny: on a busy machine, threads would wait for each other.
    setNumThreads(1);
    const atStart = counts();
    const model = makeModel();
    const firstLoss = model.step();
    model.step();
    const before = counts();
    let loss = firstLoss;
    for (let step = 0; step < STEPS; step++) loss = model.step();
    expect(counts()).toEqual(before);
    expect(loss).toBeLessThan(firstLoss);
    model.dispose();
    expect(counts()).toEqual(atStart);
  });

  it('of unreachable tensors is freed by garbage collection, which keeps pace', async () => {
    const script = fileURLToPath(new URL('testing/drop-tensors.ts', import.meta.url));
    const node = ['--expose-gc', '--conditions=@acc/source', '--import=tsx', script];
    const { stdout } = await promisify(execFile)(process.execPath, node, { timeout: 240_000 });
    const { droppedMib, mostMib, leftMib } = JSON.parse(stdout) as Record<string, number>;
    expect(droppedMib).toBeGreaterThan(1500);
    expect(mostMib).toBeLessThan(800);
    // The nursery is checked only when it grows: it may hold 64 MiB and the tensor that filled it.
    expect(leftMib).toBeLessThan(64 + 8);
  });
});
