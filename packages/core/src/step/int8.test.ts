import * as tf from '@tensorflow/tfjs';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { linearCrossEntropy } from '@acc/kernels';
import { transformerBlock } from '@acc/transformer';
import { observeCalls, operator, tensorFrom, type Tensor as NativeTensor } from '@acc/native';
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

const PRODUCTS = ['aten::mm', 'aten::addmm', 'mkldnn::_linear_pointwise', 'acc::matmul'];

/** The numbers of products of two matrices, in 8 bits and others. */
function productsIn(compute: () => unknown): { int8: number; others: number } {
  const found = { int8: 0, others: 0 };
  const end = observeCalls((name) => {
    if (name === 'acc::int8_matmul') found.int8++;
    else if (PRODUCTS.includes(name)) found.others++;
  });
  compute();
  end();
  return found;
}

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

    expect(productsIn(() => accelerator.autocast(() => tf.matMul(x, x, false, true)))).toEqual({
      int8: 0,
      others: 1,
    });
  });

  it('leaves out an excluded weight beside others with its input and shape, and products without a weight', async () => {
    await create({ amp: { exclude: ['q', 'input'] } });
    const weights = ['q', 'k', 'v'].map((name, i) => tf.variable(wave([6, 6], i), true, name));
    accelerator.prepare(weights);
    const x = wave([6, 6], 3) as tf.Tensor2D;
    const input = tf.variable(wave([6, 6], 4), true, 'input') as tf.Variable<tf.Rank.R2>;
    accelerator.prepare([input]);
    const training = (loss: () => tf.Tensor, xs: tf.Variable[]) =>
      productsIn(() => accelerator.backward(() => loss().square().sum() as tf.Scalar, xs));
    const times = (i: number, isFused = false) => {
      const b = weights[i] as tf.Variable<tf.Rank.R2>;
      return isFused ? tf.fused.matMul({ a: x, b }) : tf.matMul(x, b);
    };
    const [q, k, v] = weights as [tf.Variable, tf.Variable, tf.Variable];
    expect(training(() => tf.addN([times(0), times(1), times(2, true)]), [q, k, v])).toEqual({
      // The fused operator also computes the gradient of its input.
      int8: 5,
      others: 2,
    });
    const scores = () => tf.add(times(1), tf.matMul(tf.add(x, input), x, false, true));
    expect(training(scores, [k, input])).toEqual({ int8: 2, others: 2 });
    const ofInput = () => tf.add(tf.matMul(input, k as tf.Tensor2D), tf.matMul(input, input, false, true));
    expect(training(ofInput, [k, input])).toEqual({ int8: 3, others: 3 });
  });

  it('computes linearCrossEntropy in bf16', async () => {
    await create();
    const weight = tf.variable(wave([6, 5], 1)) as tf.Variable<tf.Rank.R2>;
    const input = tf.variable(wave([6, 5], 2)) as tf.Variable<tf.Rank.R2>;
    accelerator.prepare([weight, input]);
    const labels = tf.tensor1d([0, 1, 2, 3, 4, 5], 'int32');
    const loss = () => linearCrossEntropy(input, weight, labels);
    expect(productsIn(() => accelerator.backward(loss, [weight, input]))).toEqual({ int8: 0, others: 4 });
  });

  it('trains with an empty batch', async () => {
    await create();
    const weight = tf.variable(wave([6, 5], 1)) as tf.Variable<tf.Rank.R2>;
    accelerator.prepare([weight]);
    const { grads } = accelerator.backward(() => tf.matMul(tf.zeros([0, 6]), weight).sum(), [weight]);
    expect(grads[weight.name]!.dataSync()).toEqual(new Float32Array(30));
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
    const messages = warn.mock.calls.map(([message]) => String(message));
    // Some CPUs lack the instructions, which another message says.
    const said = messages.filter((text) => text.includes('int8') && !text.includes('AVX-512'));
    expect(said).toHaveLength(2);
    expect(said[0]).toContain('no weight is multiplied in 8 bits');
    expect(said[1]).toContain('remember/kernel, remember/recurrent_kernel, look/kernel');
  });

  it('leaves out the layers within a layer that a pattern names', async () => {
    await create({ amp: { exclude: ['head', 'block_0/*'] } });
    const layers = [
      transformerBlock({ heads: 2, name: 'block_0', inputShape: [3, 8] }),
      transformerBlock({ heads: 2, name: 'block_1' }),
      tf.layers.dense({ units: 4, name: 'head' }),
    ];
    const model = accelerator.prepare(tf.sequential({ layers }));
    // Four projections of attention and two layers of the MLP.
    expect(productsIn(() => model.predict(tf.ones([2, 3, 8])))).toMatchObject({ int8: 6 });
    accelerator.backward(() => (model.apply(tf.ones([2, 3, 8])) as tf.Tensor).sum() as tf.Scalar);
  });

  it('refuses each training step with a pattern that matches no weight, and says so in prediction', async () => {
    const warn = vi.spyOn(console, 'warn').mockImplementation(() => undefined);
    await create({ amp: { exclude: ['heat'] } });
    const model = accelerator.prepare(
      tf.sequential({ layers: [tf.layers.dense({ units: 2, inputShape: [2], name: 'head' })] }),
    );
    tf.dispose(model.predict(tf.zeros([1, 2])));
    expect(warn.mock.calls.flat().join()).toContain("'heat' has matched no weight so far");
    const refused = expect.objectContaining({ code: 'ACC_INVALID_OPTION' }) as Error;
    const train = () =>
      accelerator.backward(() => (model.apply(tf.zeros([1, 2])) as tf.Tensor).sum() as tf.Scalar);
    for (let i = 0; i < 2; i++) expect(train).toThrowError(refused);
    accelerator.prepare(
      tf.sequential({ layers: [tf.layers.dense({ units: 2, inputShape: [2], name: 'heat' })] }),
    );
    tf.dispose(train().value);
  });
});
