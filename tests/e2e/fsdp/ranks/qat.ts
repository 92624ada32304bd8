// Trains a model with rounded weights and inputs, and packs its weights.
import * as tf from '@tensorflow/tfjs';
import { Accelerator, type AcceleratorOptions } from '@acc/core';
import { convertQat, freezeObservers, prepareQat } from '@acc/quantization';
import { disposeOptimizers } from '../../dispose-optimizers.js';

const ROWS = 12;
const STEPS = 4;

export interface Qat {
  readonly losses: number[];
  /** After the last step: weights, learned scales and ranges of inputs. */
  readonly weights: number[];
  /** Of inputs, after each step. */
  readonly ranges: number[][];
  /** The packed weights. */
  readonly packed: number[];
  /** The largest difference of predictions before and after the weights are packed, over the largest value. */
  readonly difference: number;
}

function values(shape: number[], seed: number): tf.Tensor {
  const size = tf.util.sizeFromShape(shape);
  return tf.tidy(() => tf.sin(tf.range(0, size).mul(1.7).add(seed)).reshape(shape));
}

function modelOf(): tf.Sequential {
  const model = tf.sequential({
    layers: [
      tf.layers.conv2d({
        name: 'conv',
        filters: 8,
        kernelSize: 3,
        activation: 'relu',
        inputShape: [4, 4, 3],
      }),
      tf.layers.flatten(),
      tf.layers.dense({ name: 'middle', units: 32, activation: 'tanh' }),
      tf.layers.dense({ name: 'head', units: 3 }),
    ],
  });
  tf.tidy(() => model.setWeights(model.getWeights().map((each, i) => values(each.shape, i).mul(0.3))));
  prepareQat(model, { weights: 'int8', layers: ['conv'], activations: 'static', observer: 'minMax' });
  prepareQat(model, { weights: 'int8', layers: ['middle'], activations: 'static', scales: 'learned' });
  prepareQat(model, {
    ...{ weights: 'int4', granularity: { group: 32 }, scales: 'learned' },
    layers: ['head'],
  });
  return model;
}

/** @param options The strategy, and with it accumulation or mixed precision. */
export async function qat(options: AcceleratorOptions): Promise<Qat> {
  const accelerator = await Accelerator.create(options);
  const { processIndex: rank, numProcesses: size, gradientAccumulationSteps: micro } = accelerator;
  const model = modelOf();
  const optimizer = tf.train.sgd(0.2);
  accelerator.prepare(model, optimizer);
  const losses: number[] = [];
  const ranges: number[][] = [];
  const read = (of: tf.Sequential, isWanted: (name: string) => boolean) =>
    of.weights.filter(({ name }) => isWanted(name)).flatMap((each) => [...each.read().dataSync()]);
  for (let pass = 0; pass < STEPS * micro; pass++) {
    if (pass === (STEPS - 1) * micro) freezeObservers(model);
    const rows = ROWS / size;
    tf.tidy(() => {
      const x = tf.slice(values([ROWS, 4, 4, 3], pass).mul(1 + pass), rank * rows, rows);
      const y = tf.slice(values([ROWS, 3], pass + 0.5), rank * rows, rows);
      const loss = () => {
        const errors = tf.sub(model.apply(x, { training: true }) as tf.Tensor, y);
        return errors.square().mean() as tf.Scalar;
      };
      const ofRank = accelerator.accumulate(() => optimizer.minimize(loss, true)!);
      losses.push(accelerator.reduce(ofRank, 'mean').dataSync()[0]!);
    });
    ranges.push(read(model, (name) => name.includes('input_range')));
  }
  const weights = read(model, () => true);
  const whole = accelerator.getStateDict(model);
  const state = Object.fromEntries(Object.entries(whole).map(([name, each]) => [name, each.dataSync()]));
  tf.dispose(whole);
  accelerator.freeMemory();
  disposeOptimizers(optimizer);
  // Under fsdp, the values have gone with the shares of them.
  const trained = options.strategy === 'fsdp' ? modelOf() : model;
  if (trained !== model) {
    model.dispose();
    for (const weight of trained.weights) {
      tf.tidy(() => void weight.write(tf.tensor(state[weight.originalName]!, weight.shape as number[])));
    }
  }
  const predict = () =>
    tf.tidy(() => [...(trained.predict(values([3, 4, 4, 3], 99)) as tf.Tensor).dataSync()]);
  const before = predict();
  await convertQat(trained);
  const after = predict();
  const packed = read(trained, (name) => name.includes('kernel'));
  trained.dispose();
  const largest = Math.max(...before.map(Math.abs));
  const difference = Math.max(...after.map((each, i) => Math.abs(each - before[i]!))) / largest;
  return { losses, weights, ranges, packed, difference };
}
