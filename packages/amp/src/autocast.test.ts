import * as tf from '@tensorflow/tfjs';
import { beforeAll, describe, expect, it } from 'vitest';
import type { NativeTensor, PrecisionLayer } from '@acc/contract';
import { kernelLayerOf, registerAccBackend, scaledDotProductAttention } from '@acc/kernels';
import { observeCalls } from '@acc/native';
import { Autocast } from './autocast.js';
import { OP_LISTS } from './op-lists.js';

let precision: PrecisionLayer;
let autocast: Autocast;

beforeAll(async () => {
  registerAccBackend();
  await tf.setBackend('acc');
  precision = kernelLayerOf('acc', tf.backend()).precision!;
  autocast = new Autocast(() => precision, 'bfloat16', OP_LISTS);
});

const wave = (shape: number[], scale = 1): tf.Tensor =>
  tf.tidy(() =>
    tf
      .sin(tf.range(0, tf.util.sizeFromShape(shape)).mul(1.7))
      .mul(scale)
      .reshape(shape),
  );

type Op = (...xs: tf.Tensor[]) => tf.Tensor;

const LOWERED: Readonly<Record<string, readonly [op: Op, ...shapes: number[][]]>> = {
  matMul: [(a, b) => tf.matMul(a!, b!), [5, 7], [7, 3]],
  'matMul of stacks': [(a, b) => tf.matMul(a!, b!, false, true), [2, 5, 7], [2, 3, 7]],
  'fused.matMul': [
    (a, b, bias) => tf.fused.matMul({ a: a!, b: b!, bias: bias!, activation: 'linear' }),
    [5, 7],
    [7, 3],
    [3],
  ],
  'fused.matMul with relu': [
    (a, b, bias) => tf.fused.matMul({ a: a!, b: b!, bias: bias!, activation: 'relu' }),
    [5, 7],
    [7, 3],
    [3],
  ],
  conv2d: [(x, w) => tf.conv2d(x as tf.Tensor4D, w as tf.Tensor4D, 1, 'same'), [2, 5, 5, 3], [3, 3, 3, 4]],
  depthwiseConv2d: [
    (x, w) => tf.depthwiseConv2d(x as tf.Tensor4D, w as tf.Tensor4D, 1, 'valid'),
    [2, 5, 5, 3],
    [3, 3, 3, 2],
  ],
  conv3d: [
    (x, w) => tf.conv3d(x as tf.Tensor5D, w as tf.Tensor5D, 1, 'same'),
    [1, 4, 4, 4, 2],
    [2, 2, 2, 2, 3],
  ],
  prelu: [(x, alpha) => tf.prelu(x!, alpha!), [4, 5], [5]],
  scaledDotProductAttention: [
    (q, k, v) =>
      scaledDotProductAttention(q as tf.Tensor4D, k as tf.Tensor4D, v as tf.Tensor4D, { isCausal: true }),
    [2, 2, 9, 8],
    [2, 2, 9, 8],
    [2, 2, 9, 8],
  ],
};

const IN_FLOAT32: Readonly<Record<string, (x: tf.Tensor) => tf.Tensor>> = {
  exp: (x) => tf.exp(x),
  log: (x) => tf.log(x.abs().add(1)),
  pow: (x) => tf.pow(x.abs().add(1), 2.5),
  softmax: (x) => tf.softmax(x),
  logSoftmax: (x) => tf.logSoftmax(x),
  sum: (x) => tf.sum(x, 1),
  mean: (x) => tf.mean(x),
  cumsum: (x) => tf.cumsum(x, 1),
  squaredDifference: (x) => tf.squaredDifference(x, x.mul(2)),
  softmaxCrossEntropy: (x) => tf.losses.softmaxCrossEntropy(tf.oneHot([0, 1, 2], 3), x),
};

/** Largest difference, as a part of the largest value. */
function difference(actual: tf.Tensor, expected: tf.Tensor): number {
  return tf.tidy(() => {
    const largest = expected.abs().max().dataSync()[0]!;
    return actual.sub(expected).abs().max().dataSync()[0]! / Math.max(largest, 1e-6);
  });
}

/** The value and all gradients of an op, in training. */
function run(op: Op, xs: tf.Tensor[], on: boolean) {
  let value!: tf.Tensor;
  const grads = tf.grads((...inputs) => {
    const compute = () => {
      value = tf.keep(op(...inputs));
      return value.sum();
    };
    return on ? autocast.forward(compute) : compute();
  })(xs);
  return { value, grads };
}

describe('operators of the list `lower`', () => {
  it.each(Object.entries(LOWERED))('%s computes in bfloat16, close to float32', (_, [op, ...shapes]) => {
    const xs = shapes.map((shape) => (shape.length === 1 ? tf.variable(wave(shape)) : wave(shape)));
    const wide = run(op, xs, false);
    const short = autocast.backward(() => run(op, xs, true));
    expect(precision.dtypeOf(short.value)).toBe('bfloat16');
    expect(precision.dtypeOf(wide.value)).toBe('float32');
    expect(difference(short.value, wide.value)).toBeLessThan(0.02);
    short.grads.forEach((grad, i) => {
      expect(difference(grad, wide.grads[i]!)).toBeLessThan(0.03);
    });
  });
});

it('einsum, which has no gradient in tfjs, computes in bfloat16', () => {
  const [a, b] = [wave([5, 7]), wave([7, 3])];
  autocast.forward(() => {
    const short = tf.einsum('ij,jk->ik', a, b);
    expect(precision.dtypeOf(short)).toBe('bfloat16');
    expect(
      difference(
        short,
        autocast.off(() => tf.einsum('ij,jk->ik', a, b)),
      ),
    ).toBeLessThan(0.02);
  });
});

describe('operators of the list `float32`', () => {
  it.each(Object.entries(IN_FLOAT32))('%s', (_, op) => {
    const x = wave([3, 3]);
    autocast.forward(() => {
      const short = tf.matMul(x as tf.Tensor2D, tf.eye(3));
      expect(precision.dtypeOf(short)).toBe('bfloat16');
      const y = op(short);
      expect(precision.dtypeOf(y)).toBe('float32');
      expect(difference(y, op(short.clone()))).toBe(0);
    });
  });
});

describe('autocast', () => {
  const product = (x: tf.Tensor) => tf.matMul(x as tf.Tensor2D, tf.eye(3));

  it('widens mixed inputs and results', () => {
    const x = wave([3, 3]);
    const y = autocast.forward(() => {
      expect(precision.dtypeOf(product(x).add(x))).toBe('float32');
      expect(precision.dtypeOf(tf.concat([product(x), x]))).toBe('float32');
      expect(precision.dtypeOf(product(x).relu())).toBe('bfloat16');
      return product(x);
    });
    expect(precision.dtypeOf(y)).toBe('float32');
  });

  it('can be switched off and on again inside', () => {
    const x = wave([3, 3]);
    autocast.forward(() => {
      autocast.off(() => {
        expect(precision.dtypeOf(product(x))).toBe('float32');
        autocast.forward(() => void expect(precision.dtypeOf(product(x))).toBe('bfloat16'));
      });
      expect(precision.dtypeOf(product(x))).toBe('bfloat16');
    });
    expect(precision.dtypeOf(product(x))).toBe('float32');
  });

  it('is switched off after an error', () => {
    expect(() =>
      autocast.forward(() => {
        throw new Error('stop');
      }),
    ).toThrow('stop');
    expect(autocast.isOn).toBe(false);
    expect(precision.dtypeOf(product(wave([3, 3])))).toBe('float32');
  });

  it('keeps the gradient of a tensor that was converted before the tape started', () => {
    const x = wave([3, 3]);
    const grad = autocast.forward(() => {
      product(x);
      return tf.grad((t) => product(t).sum())(x);
    });
    expect([...grad.dataSync()]).toEqual(new Array(9).fill(1));
  });

  it('converts a weight only once until its value changes', () => {
    const weight = tf.variable(wave([3, 5]));
    const x = wave([2, 3]) as tf.Tensor2D;
    const conversions: number[] = [];
    const forward = () => tf.tidy(() => [...tf.matMul(x, weight as unknown as tf.Tensor2D).dataSync()]);
    const end = observeCalls((name, args) => {
      const [first] = args as readonly NativeTensor[];
      if (name === 'aten::_to_copy' && String(first!.shape) === '3,5') conversions.push(1);
    });
    autocast.forward(() => void [forward(), forward()]);
    const before = autocast.forward(forward);
    expect(conversions).toHaveLength(1);
    weight.assign(weight.mul(2));
    const after = autocast.forward(forward);
    end();
    expect(conversions).toHaveLength(2);
    after.forEach((value, i) => expect(Math.abs(value - 2 * before[i]!)).toBeLessThan(0.05));
  });

  /** How often tensors of the dtype `from` and a shape are converted to `to`. */
  const conversionsDuring = (
    [from, to]: readonly [string, string],
    shape: readonly number[],
    run: () => void,
  ): number => {
    let conversions = 0;
    const end = observeCalls((name, args) => {
      const [x, dtype] = args as readonly [NativeTensor, string];
      if (
        name === 'aten::_to_copy' &&
        x.dtype === from &&
        dtype === to &&
        String(x.shape) === String(shape)
      ) {
        conversions++;
      }
    });
    run();
    end();
    return conversions;
  };

  it('adds the gradients of a tensor that several operators widen in float32', () => {
    const [one, small] = [tf.ones([3, 3]), tf.fill([3, 3], 2 ** -9)];
    const grad = tf.grad((x) =>
      autocast.forward(() => {
        const y = product(x);
        return tf.addN([one, small, small, small].map((factor) => y.mul(factor))).sum();
      }),
    )(wave([3, 3]));
    // In bfloat16, 1 + 2⁻⁹ is 1.
    expect([...grad.dataSync()]).toEqual(new Array(9).fill(1 + 2 ** -7));
  });

  it.each([
    ['once while the tape keeps it', 1, (y: tf.Tensor) => y.pow(2.5)],
    ['again when the tape did not keep it', 2, (y: tf.Tensor) => y.sum(1, true)],
  ])('widens a tensor on a tape %s', (_, times, first) => {
    let conversions = NaN;
    const grad = tf.grad((x) =>
      autocast.forward(() => {
        const y = tf.matMul(x as tf.Tensor2D, tf.eye(5));
        let z!: tf.Tensor;
        conversions = conversionsDuring(['bfloat16', 'float32'], [3, 5], () => {
          z = tf.add(first(y), y.pow(3.5));
        });
        return z.sum();
      }),
    )(tf.ones([3, 5]));
    expect([...grad.dataSync()].every(Number.isFinite)).toBe(true);
    expect(conversions).toBe(times);
  });

  describe('a softmax', () => {
    const [scores, values] = [wave([2, 5, 5], 3), wave([2, 5, 4])];
    const attend = (s: tf.Tensor) => tf.matMul(tf.softmax(s), values).square().sum();
    const gradientOf = (f: (s: tf.Tensor) => tf.Tensor) =>
      autocast.backward(() => tf.grad((s) => autocast.forward(() => f(s)))(scores));

    it('that a product takes saves 16 bits', () => {
      const dtypes: string[] = [];
      const end = observeCalls((name, args) => {
        if (name !== 'aten::_softmax_backward_data') return;
        for (const x of args.slice(0, 2)) dtypes.push((x as NativeTensor).dtype);
      });
      gradientOf(attend).dispose();
      end();
      expect(dtypes).toEqual(['bfloat16', 'bfloat16']);
      expect(difference(gradientOf(attend), tf.grad(attend)(scores))).toBeLessThan(0.02);
    });

    it('that no product takes saves float32', () => {
      const f = (s: tf.Tensor) => tf.softmax(s).square().sum();
      expect(difference(gradientOf(f), tf.grad(f)(scores))).toBe(0);
    });

    it('has second gradients', () => {
      const second = (f: (s: tf.Tensor) => tf.Tensor) => tf.grad((s) => tf.grad(f)(s).square().sum())(scores);
      const short = autocast.forward(() => second(attend));
      expect(difference(short, second(attend))).toBeLessThan(0.05);
    });
  });

  it('leaves no tensors behind', () => {
    const weight = tf.variable(wave([3, 3]));
    const step = () =>
      tf.tidy(() => {
        const { value, grads } = tf.variableGrads(() =>
          autocast.forward(() => product(product(weight)).relu().sum() as tf.Scalar),
        );
        tf.dispose(grads);
        value.dispose();
      });
    step();
    const { numTensors, numDataBuffers } = tf.memory();
    for (let i = 0; i < 3; i++) step();
    expect(tf.memory()).toMatchObject({ numTensors, numDataBuffers });
  });
});
