import * as tf from '@tensorflow/tfjs';
import { afterEach, describe, expect, it } from 'vitest';
import { observeCalls } from '@acc/native';
import { expectClose } from '@acc/testkit';
import { Accelerator } from '../accelerator.js';
import type { AcceleratorOptions } from '../options.js';

const MICRO_BATCHES = 4;
const ROWS = 3;

let accelerator: Accelerator;
afterEach(() => {
  accelerator.freeMemory();
  tf.disposeVariables();
});

const wave = (rows: number, columns: number, seed: number) =>
  tf.tidy(() =>
    tf
      .sin(
        tf
          .range(0, rows * columns)
          .mul(1.3)
          .add(seed),
      )
      .reshape([rows, columns]),
  );

async function training(options: AcceleratorOptions = {}) {
  accelerator = await Accelerator.create({ engine: 'acc', ...options });
  const layers = [6, 4, 2].map((units, i) =>
    tf.layers.dense({
      units,
      activation: i < 2 ? 'relu' : 'linear',
      kernelInitializer: tf.initializers.glorotUniform({ seed: i }),
      ...(i === 0 && { inputShape: [5] }),
    }),
  );
  const model = tf.sequential({ layers });
  const optimizer = tf.train.sgd(0.1);
  accelerator.prepare(model, optimizer);
  const loss = (y: tf.Tensor, prediction: tf.Tensor) => y.sub(prediction).square().mean() as tf.Scalar;
  const [xs, ys] = [wave(MICRO_BATCHES * ROWS, 5, 1), wave(MICRO_BATCHES * ROWS, 2, 2)];
  const weights = () => model.getWeights().map((weight) => [...weight.dataSync()]);
  return { model, optimizer, loss, xs, ys, weights };
}

function namesIn(action: () => void): string[] {
  const names: string[] = [];
  const end = observeCalls((name) => void names.push(name));
  action();
  end();
  return names;
}

describe.each(['gpipe', 'zeroBubble'] as const)('a pipelined step: %s', (schedule) => {
  it('adds the products of all micro-batches but the first to the sums, compiled with the same bits', async () => {
    const { model, loss, xs, ys, weights } = await training();
    const step = accelerator.pipelined(model, loss, { schedule, microBatches: MICRO_BATCHES });
    const start = model.getWeights().map((weight) => weight.clone());
    const trained = (take: typeof step) => {
      model.setWeights(start);
      const losses = Array.from({ length: 5 }, () => {
        const value = take(xs, ys);
        const [number] = value.dataSync();
        value.dispose();
        return number;
      });
      return [losses, weights()];
    };
    const plain = trained(step);
    const names = namesIn(() => step(xs, ys).dispose());
    expect(names.filter((name) => name === 'aten::addmm_')).toHaveLength(3 * (MICRO_BATCHES - 1));
    // Biases are added in lists.
    expect(names.filter((name) => name.startsWith('aten::_foreach_add_'))).toHaveLength(MICRO_BATCHES - 1);
    const compiled = accelerator.compile(step);
    expect(trained(compiled)).toEqual(plain);
    expect(compiled.replays).toBeGreaterThan(1);
  });
});

it('a pipelined step has the gradients of a whole batch', async () => {
  const { model, optimizer, loss, xs, ys, weights } = await training();
  const start = model.getWeights().map((weight) => weight.clone());
  const step = accelerator.pipelined(model, loss, { microBatches: MICRO_BATCHES });
  step(xs, ys).dispose();
  const pipelined = weights();
  model.setWeights(start);
  optimizer.minimize(() => loss(ys, model.predict(xs) as tf.Tensor));
  weights().forEach((values, i) => expectClose(pipelined[i]!, values, { rtol: 1e-5, atol: 1e-6 }));
});

it('sums of products in bfloat16 are float32, and added in lists', async () => {
  const { model, loss, xs, ys } = await training({ mixedPrecision: 'bf16' });
  const step = accelerator.pipelined(model, loss, { microBatches: MICRO_BATCHES });
  step(xs, ys).dispose();
  expect(namesIn(() => step(xs, ys).dispose())).not.toContain('aten::addmm_');
});
