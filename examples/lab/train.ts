import { Accelerator, DataLoader, setSeed } from '@acc/core';
import * as tf from '@tensorflow/tfjs';
import { readDigits } from '../digits.js';

/** The training task. It is the same for any strategy and number of processes. */
export interface Task {
  readonly strategy: 'single' | 'ddp' | 'fsdp';
  readonly epochs: number;
  readonly rows: number;
  /** The number of digits in a step of all processes together. */
  readonly batchSize: number;
  /** The number of units of the two hidden layers. */
  readonly width: number;
}

/** The measurements of one process. */
export interface Measured {
  readonly processes: number;
  /** The mean loss of each step, over all processes. */
  readonly losses: readonly number[];
  /** The time of each step but the first ones, in milliseconds. */
  readonly stepMs: readonly number[];
  /** The tensors of this process in memory: between steps, and at most, in bytes. */
  readonly restingBytes: number;
  readonly peakBytes: number;
  /** The number of bytes that this process sent in a step. */
  readonly sentBytes: number;
}

/** Steps that allocate memory and start threads, and are not timed. */
const WARM_UP_STEPS = 3;

/** Trains on as many processes as the job has. The loop does not know how many they are. */
export async function train({ strategy, epochs, rows, batchSize, width }: Task): Promise<Measured> {
  const accelerator = await Accelerator.create({ strategy, dataLoader: { splitBatches: true } });
  setSeed(7);
  const [model, optimizer, data] = accelerator.prepare(
    createModel(width),
    tf.train.adam(1e-3),
    new DataLoader(readDigits(rows).train, { batchSize, shuffle: true }),
  );

  const losses: number[] = [];
  const stepMs: number[] = [];
  let sentBytes = 0;
  accelerator.resetPeakMemory();
  for (let epoch = 0; epoch < epochs; epoch++) {
    for await (const { xs, ys } of data) {
      accelerator.communication();
      const start = performance.now();
      const loss = optimizer.minimize(
        () => tf.losses.softmaxCrossEntropy(tf.oneHot(ys, 10), model.apply(xs) as tf.Tensor2D),
        true,
      )!;
      const [local] = await loss.data();
      stepMs.push(performance.now() - start);
      sentBytes = bytesIn(accelerator.communication());
      tf.dispose([loss, xs, ys]);
      losses.push(meanOverProcesses(accelerator, local!));
    }
  }

  const { allocatedBytes, peakAllocatedBytes } = tf.memory() as unknown as Record<string, number>;
  const processes = accelerator.numProcesses;
  await accelerator.endTraining();
  return {
    processes,
    losses,
    stepMs: stepMs.slice(WARM_UP_STEPS),
    restingBytes: allocatedBytes!,
    peakBytes: peakAllocatedBytes!,
    sentBytes,
  };
}

/** A perceptron that gives the logits of the ten digits. */
function createModel(width: number): tf.LayersModel {
  const { dense, flatten } = tf.layers;
  return tf.sequential({
    layers: [
      flatten({ inputShape: [28, 28, 1] }),
      dense({ units: width, activation: 'relu' }),
      dense({ units: width, activation: 'relu' }),
      dense({ units: 10 }),
    ],
  });
}

function meanOverProcesses(accelerator: Accelerator, local: number): number {
  const mean = tf.tidy(() => accelerator.reduce(tf.scalar(local), 'mean'));
  const [value] = mean.dataSync();
  mean.dispose();
  return value!;
}

function bytesIn(axes: Readonly<Record<string, { readonly bytes: number }>>): number {
  return Object.values(axes).reduce((sum, { bytes }) => sum + bytes, 0);
}
