// Quantizes a model by inputs that it is to get, and saves it; a new model loads what calibration has found.
import { join } from 'node:path';
import * as tf from '@tensorflow/tfjs';
import { Accelerator, type AcceleratorOptions } from '@acc/core';
import { quantize } from '@acc/quantization';

export interface Calibrated {
  /** Of the model, once it is prepared. */
  readonly predicted: number[];
  /** Of a new model that has loaded it. */
  readonly loaded: number[];
  /** Ranges and factors of inputs, of `getStateDict`. */
  readonly inputs: Record<string, number[]>;
}

function values(shape: number[], seed: number): tf.Tensor {
  const size = tf.util.sizeFromShape(shape);
  return tf.tidy(() => tf.sin(tf.range(0, size).mul(1.7).add(seed)).reshape(shape));
}

/** @param seed Of the inputs. Undefined: what they give is loaded. */
async function modelOf(seed: number | undefined): Promise<tf.Sequential> {
  const model = tf.sequential({
    layers: [
      tf.layers.conv2d({ name: 'conv', filters: 8, kernelSize: 3, inputShape: [4, 4, 3] }),
      tf.layers.flatten(),
      tf.layers.dense({ name: 'middle', units: 32, activation: 'tanh' }),
      tf.layers.dense({ name: 'head', units: 3 }),
    ],
  });
  tf.tidy(() => model.setWeights(model.getWeights().map((each, i) => values(each.shape, i).mul(0.3))));
  const batches =
    seed === undefined ? undefined : [values([5, 4, 4, 3], seed), values([5, 4, 4, 3], seed + 0.5)];
  const calibration = batches ?? 'stored';
  const rounded = { weights: 'int8', activations: 'static', calibration } as const;
  await quantize(model, { ...rounded, layers: ['conv'] });
  await quantize(model, { ...rounded, algorithm: 'smoothQuant', layers: ['middle'] });
  const head = { weights: 'int4', granularity: { group: 32 }, layers: ['head'] } as const;
  await quantize(model, batches ? { ...head, algorithm: 'gptq', calibration: batches } : head);
  tf.dispose(batches ?? []);
  return model;
}

export async function calibrated(options: AcceleratorOptions, folder: string): Promise<Calibrated> {
  const accelerator = await Accelerator.create(options);
  // Those of rank 0 count.
  const model = await modelOf(2 + 10 * accelerator.processIndex);
  accelerator.prepare(model);
  const predict = (of: tf.Sequential) =>
    tf.tidy(() => [...(of.predict(values([6, 4, 4, 3], 2)) as tf.Tensor).dataSync()]);
  const predicted = predict(model);
  const place = join(folder, 'calibrated');
  await accelerator.saveModel(model, place);
  accelerator.waitForEveryone();
  const state = accelerator.getStateDict(model);
  const inputs = Object.fromEntries(
    Object.entries(state).flatMap(([name, each]) =>
      name.includes('input_') ? [[name, [...each.dataSync()]]] : [],
    ),
  );
  tf.dispose(state);
  const other = await modelOf(undefined);
  accelerator.prepare(other);
  await accelerator.loadModel(other, place);
  const loaded = predict(other);
  accelerator.freeMemory();
  model.dispose();
  other.dispose();
  return { predicted, loaded, inputs };
}
