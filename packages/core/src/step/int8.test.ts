import * as tf from '@tensorflow/tfjs';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { operator, tensorFrom, type Tensor as NativeTensor } from '@acc/native';
import { Accelerator } from '../accelerator.js';
import type { AcceleratorOptions } from '../options.js';

let accelerator: Accelerator;
afterEach(() => {
  accelerator.freeMemory();
  tf.disposeVariables();
  vi.restoreAllMocks();
});

const create = async (options: AcceleratorOptions = {}) =>
  (accelerator = await Accelerator.create({
    engine: 'acc',
    mixedPrecision: 'int8',
    seed: 5,
    amp: { exclude: [] },
    ...options,
  }));

const SEED = 5;
const int8Matmul = operator('acc::int8_matmul');
const toShort = operator('aten::to.dtype');

const wave = (shape: number[], seed: number) =>
  tf.tidy(() => tf.sin(tf.range(0, tf.util.sizeFromShape(shape)).mul(1.3).add(seed)).reshape(shape));
const native = (x: tf.Tensor) => tensorFrom(x.dataSync() as Float32Array, 'float32', x.shape);
const short = (x: tf.Tensor) => toShort(native(x), 'bfloat16');

/** The product of the operator, whose values the tests of @acc/native compare. */
function product(
  a: NativeTensor,
  b: NativeTensor,
  given: { turns: string; stochastic?: string; dtype?: string },
): NativeTensor {
  const { turns, stochastic = '', dtype = 'bfloat16' } = given;
  return int8Matmul(
    a,
    b,
    null,
    turns.includes('a'),
    turns.includes('b'),
    'linear',
    dtype,
    stochastic,
    SEED,
    false,
  );
}
const values = (x: NativeTensor) => x.read('float32') as Float32Array;

describe("mixedPrecision 'int8'", () => {
  it('computes a weight, the gradient of its input and its own in 8 bits, and sums in float32', async () => {
    await create();
    const [first, second] = [tf.variable(wave([6, 5], 1)), tf.variable(wave([5, 3], 2))];
    accelerator.prepare([first, second]);
    const [x, dy] = [wave([4, 6], 3) as tf.Tensor2D, wave([4, 3], 4)];
    const predict = () => tf.matMul(tf.matMul(x, first as tf.Tensor2D), second as tf.Tensor2D);

    const hidden = product(short(x), native(first), { turns: '' });
    const expected = product(hidden, native(second), { turns: '' });
    expect(accelerator.autocast(predict).dataSync()).toEqual(values(expected));

    const { grads } = accelerator.backward(() => predict().mul(dy).sum(), [first, second]);
    const weightGradient = { turns: 'a', stochastic: 'b', dtype: 'float32' };
    expect(grads[second.name]!.dataSync()).toEqual(values(product(hidden, short(dy), weightGradient)));
    const dHidden = product(short(dy), native(second), { turns: 'b', stochastic: 'a' });
    expect(grads[first.name]!.dataSync()).toEqual(values(product(short(x), dHidden, weightGradient)));
  });

  it('computes tied weights and fused products in 8 bits, and products without a weight in bf16', async () => {
    await create();
    const weight = tf.variable(wave([5, 6], 1)) as tf.Variable<tf.Rank.R2>;
    accelerator.prepare([weight]);
    const [x, dy] = [wave([4, 6], 3) as tf.Tensor2D, wave([4, 5], 4)];
    const bias = tf.variable(wave([5], 5)) as tf.Variable<tf.Rank.R1>;
    const tied = () => tf.fused.matMul({ a: x, b: weight, transposeB: true, bias });
    const { value, grads } = accelerator.backward(() => tied().mul(dy).sum(), [weight, bias]);
    tf.dispose(value);
    const gradient = { turns: 'a', stochastic: 'a', dtype: 'float32' };
    expect(grads[weight.name]!.dataSync()).toEqual(values(product(short(dy), short(x), gradient)));

    const scores = accelerator.autocast(() => tf.matMul(x, x, false, true));
    const wide = tf.matMul(x, x, false, true).dataSync();
    scores.dataSync().forEach((score, i) => expect(Math.abs(score - wide[i]!)).toBeLessThan(0.02));
  });

  it('trains dense layers as float32 does', async () => {
    const losses = async (options: AcceleratorOptions) => {
      await create(options);
      const kernel = (seed: number) => tf.initializers.glorotNormal({ seed });
      const net = tf.sequential({
        layers: [
          tf.layers.dense({ units: 32, activation: 'relu', inputShape: [8], kernelInitializer: kernel(1) }),
          tf.layers.dense({ units: 4, kernelInitializer: kernel(2) }),
        ],
      });
      const [model, optimizer] = accelerator.prepare(net, tf.train.adam(0.01));
      const x = tf.randomNormal([32, 8], 0, 1, 'float32', 3);
      const y = tf.oneHot(
        tf.argMax(tf.matMul(x as tf.Tensor2D, tf.randomNormal([8, 4], 0, 1, 'float32', 4)), 1),
        4,
      );
      const all: number[] = [];
      for (let step = 0; step < 60; step++) {
        const loss = optimizer.minimize(
          () => tf.losses.softmaxCrossEntropy(y, model.apply(x) as tf.Tensor) as tf.Scalar,
          true,
        )!;
        all.push(loss.dataSync()[0]!);
      }
      accelerator.freeMemory();
      return all;
    };
    const wide = await losses({ mixedPrecision: 'no', amp: {} });
    const narrow = await losses({});
    expect(narrow).not.toEqual(wide);
    expect(wide.at(-1)).toBeLessThan(0.5 * wide[0]!);
    narrow.forEach((loss, i) => expect(Math.abs(loss - wide[i]!)).toBeLessThan(0.03 * wide[0]!));
  });

  it('says which weights compute in bf16, once, and that none is left for 8 bits', async () => {
    const warn = vi.spyOn(console, 'warn').mockImplementation(() => undefined);
    await create({ amp: {} });
    const layers = [
      tf.layers.lstm({ units: 4, inputShape: [3, 2], returnSequences: true, name: 'remember' }),
      tf.layers.conv1d({ filters: 4, kernelSize: 2, name: 'look' }),
      tf.layers.flatten(),
      tf.layers.dense({ units: 2 }),
    ];
    const model = accelerator.prepare(tf.sequential({ layers }));
    for (let i = 0; i < 2; i++) tf.dispose(model.predict(tf.zeros([1, 3, 2])));
    const said = warn.mock.calls.map(([message]) => String(message)).filter((text) => text.includes('int8'));
    expect(said).toHaveLength(2);
    expect(said[0]).toContain('no weight is multiplied in 8 bits');
    expect(said[1]).toContain('remember/kernel, remember/recurrent_kernel, look/kernel');
  });

  it('refuses a pattern that matches no weight', async () => {
    await create({ amp: { exclude: ['heat'] } });
    const model = accelerator.prepare(
      tf.sequential({ layers: [tf.layers.dense({ units: 2, inputShape: [2], name: 'head' })] }),
    );
    const refused = expect.objectContaining({ code: 'ACC_INVALID_OPTION' }) as Error;
    expect(() => model.predict(tf.zeros([1, 2]))).toThrowError(refused);
  });
});
