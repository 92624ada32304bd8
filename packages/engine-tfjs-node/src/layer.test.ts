import * as tf from '@tensorflow/tfjs';
import { beforeAll, describe, expect, it } from 'vitest';
import { hostTensor, registerKernelLayer, type KernelLayer } from '@acc/contract';
import { kernelLayerOf } from '@acc/kernels';
import { cpuHas, expectClose } from '@acc/testkit';
import type { TensorflowBackend } from './backend.js';
import { TENSORFLOW_LAYER } from './layer.js';
import { activateTfjsNode } from './testing/provided-tfjs-node.js';

let backend: TensorflowBackend;
let layer: KernelLayer;

beforeAll(async () => {
  backend = await activateTfjsNode();
  registerKernelLayer(TENSORFLOW_LAYER);
  layer = kernelLayerOf('tensorflow', backend);
});

const counts = () => [tf.memory().numTensors, tf.memory().numDataBuffers, backend.binding.getNumOfTensors()];

/** Runs `compute` twice, and checks that the second time leaves nothing behind. */
function withoutLeak(compute: () => void): void {
  compute();
  const before = counts();
  compute();
  expect(counts()).toEqual(before);
}

const wave = (shape: readonly number[], seed = 0): tf.Tensor => {
  const size = tf.util.sizeFromShape([...shape]);
  const values = Float32Array.from({ length: size }, (_, i) => Math.sin(1.7 * i + 2.9 * seed + (i % 5)));
  return tf.tensor(values, [...shape]);
};

const short = (x: tf.Tensor) => layer.precision!.cast(x, 'bfloat16');
const wide = (x: tf.Tensor) => layer.precision!.cast(x, 'float32');
const dtypeOf = (x: tf.Tensor) => layer.precision!.dtypeOf(x);

/** The nearest bfloat16, ties to even, by the bits of the float32. */
function roundedToBfloat16(values: Float32Array): Float32Array {
  const bits = new Uint32Array(values.slice().buffer);
  for (let i = 0; i < bits.length; i++) {
    bits[i] = (bits[i]! + 0x7fff + ((bits[i]! >>> 16) & 1)) & 0xffff0000;
  }
  return new Float32Array(bits.buffer);
}

describe('precision', () => {
  it('rounds to the nearest bfloat16, and reads as float32', () => {
    tf.tidy(() => {
      const x = wave([4, 5]);
      const y = short(x);
      expect([y.dtype, dtypeOf(y), dtypeOf(x)]).toEqual(['float32', 'bfloat16', 'float32']);
      expect(y.dataSync()).toEqual(roundedToBfloat16(x.dataSync() as Float32Array));
      expect(dtypeOf(wide(y))).toBe('float32');
      expect(dtypeOf(tf.tensor1d([1, 2], 'int32'))).toBe('int32');
    });
  });

  it('its cast is on the tape, and gradients come back in the dtype of the input', () => {
    tf.tidy(() => {
      const x = wave([3, 3]);
      const [dx] = tf.grads((a) =>
        short(a!)
          .mul(short(tf.scalar(3)))
          .sum(),
      )([x]);
      expect(dtypeOf(dx!)).toBe('float32');
      expect(new Set(dx!.dataSync())).toEqual(new Set([3]));
    });
  });

  const image = [2, 6, 6, 3];
  // eslint-disable-next-line @typescript-eslint/no-explicit-any -- tensors of the ranks that each operator wants
  type Op = (...xs: any[]) => tf.Tensor;
  /** Operators, whether the result is in 16 bits, and the shapes of their inputs. */
  const OPS: Readonly<Record<string, readonly [Op, boolean, ...(readonly number[])[]]>> = {
    matMul: [(a: tf.Tensor, b: tf.Tensor) => tf.matMul(a, b), true, [5, 7], [7, 3]],
    'matMul of stacks': [(a: tf.Tensor, b: tf.Tensor) => tf.matMul(a, b, true), true, [2, 7, 5], [2, 7, 3]],
    'fused.matMul': [
      (a: tf.Tensor, b: tf.Tensor, bias: tf.Tensor) => tf.fused.matMul({ a, b, bias, activation: 'relu' }),
      ...([true, [5, 7], [7, 3], [3]] as const),
    ],
    conv2d: [(x: tf.Tensor4D, w: tf.Tensor4D) => tf.conv2d(x, w, 1, 'same'), true, image, [3, 3, 3, 4]],
    'conv2d, strided': [
      (x: tf.Tensor4D, w: tf.Tensor4D) => tf.conv2d(x, w, 2, 'valid'),
      true,
      image,
      [3, 3, 3, 4],
    ],
    conv2dTranspose: [
      (x: tf.Tensor4D, w: tf.Tensor4D) => tf.conv2dTranspose(x, w, [2, 8, 8, 4], 1, 'valid'),
      ...([true, image, [3, 3, 4, 3]] as const),
    ],
    depthwiseConv2d: [
      (x: tf.Tensor4D, w: tf.Tensor4D) => tf.depthwiseConv2d(x, w, 1, 'valid'),
      ...([false, image, [3, 3, 3, 2]] as const),
    ],
    add: [(a: tf.Tensor, b: tf.Tensor) => tf.add(a, b), true, [3, 4], [4]],
    mul: [(a: tf.Tensor, b: tf.Tensor) => tf.mul(a, b), true, [3, 4], [3, 4]],
    transpose: [(a: tf.Tensor) => tf.transpose(a), true, [3, 4]],
    split: [(a: tf.Tensor) => tf.concat(tf.split(a, 2, 1).reverse(), 1), true, [3, 4]],
    softmax: [(a: tf.Tensor) => tf.softmax(a), false, [3, 4]],
    erf: [(a: tf.Tensor) => tf.erf(a), false, [3, 4]],
    mean: [(a: tf.Tensor) => tf.mean(a, 1), false, [3, 4]],
    maxPool: [(a: tf.Tensor4D) => tf.maxPool(a, 2, 2, 'same'), false, image],
  };

  /**
   * Results and gradients are rounded to 8 bits of mantissa at each operator. On CPUs without AVX-512
   * TensorFlow also rounds the sums of a convolution, of up to 27 numbers of about 1.
   */
  const ROUNDED = { rtol: 0.02, atol: cpuHas('avx512f') ? 0.02 : 0.05 };

  describe.each(Object.entries(OPS))('%s', (_, [op, isShort, ...shapes]) => {
    const run = (inputs: tf.Tensor[]) => {
      const value = op(...inputs);
      const weights = wave(value.shape, 7);
      const grads = tf.grads((...xs: tf.Tensor[]) =>
        wide(op(...xs))
          .mul(weights)
          .sum(),
      )(inputs);
      return [value, ...grads];
    };
    const inputs = () => shapes.map((shape, seed) => short(wave(shape, seed)));

    it("gives tfjs cpu's value and gradients on the rounded inputs", async () => {
      const given = inputs();
      const results = tf.tidy(() => run(given));
      if (isShort) expect(dtypeOf(results[0]!)).toBe('bfloat16');
      const found = results.map((x) => x.dataSync());
      const values = given.map((x) => [x.dataSync(), x.shape] as const);
      tf.dispose([given, results]);
      await tf.setBackend('cpu');
      const expected = tf.tidy(() => {
        const own = values.map(([data, shape]) => tf.tensor(data, shape));
        const value = op(...own);
        const weights = wave(value.shape, 7);
        const grads = tf.grads((...xs: tf.Tensor[]) =>
          op(...xs)
            .mul(weights)
            .sum(),
        )(own);
        return [value, ...grads].map((x) => x.dataSync());
      });
      await tf.setBackend('tensorflow');
      found.forEach((data, i) => expectClose(data, expected[i]!, ROUNDED));
    });

    it('leaves no tensor behind', () => {
      withoutLeak(() => tf.tidy(() => void run(inputs())));
    });
  });

  it('a mix of types computes in float32', () => {
    tf.tidy(() => {
      const [a, b] = [wave([5, 7]), wave([7, 3], 1)];
      const product = tf.matMul(short(a), b);
      expect(dtypeOf(product)).toBe('float32');
      expectClose(product.dataSync(), tf.matMul(wide(short(a)), b).dataSync(), { rtol: 0, atol: 1e-6 });
    });
  });

  it('a weight is converted once until it changes, and its conversion is freed with it', () => {
    withoutLeak(() => {
      const weight = tf.tidy(() => tf.variable(tf.tensor1d([1, 2, 3])));
      const values = () => tf.tidy(() => [...short(weight).dataSync()]);
      expect(values()).toEqual([1, 2, 3]);
      const before = backend.binding.getNumOfTensors();
      expect(values()).toEqual([1, 2, 3]);
      expect(backend.binding.getNumOfTensors()).toBe(before);
      tf.tidy(() => weight.assign(tf.tensor1d([4, 5, 6])));
      expect(values()).toEqual([4, 5, 6]);
      const optimizer = tf.train.sgd(1);
      tf.tidy(() => layer.fusedApply!(optimizer)!({ [weight.name]: tf.ones([3]) }));
      expect(values()).toEqual([3, 4, 5]);
      optimizer.dispose();
      weight.dispose();
    });
  });

  it('refuses what TensorFlow cannot do on a CPU', () => {
    const refused = expect.objectContaining({ code: 'ACC_PRECISION_UNSUPPORTED' }) as Error;
    const x = tf.scalar(1);
    expect(() => layer.precision!.cast(x, 'float16')).toThrowError(refused);
    expect(layer.precision!.lowerProblem!('float16')).toMatch(/float16/);
    expect(layer.precision!.lowerProblem!('bfloat16')).toBeUndefined();
    expect(() => layer.precision!.setFloat32Precision('bf16')).toThrowError(refused);
    layer.precision!.setFloat32Precision('ieee');
    expect(layer.precision!.float8Problem()).toBeTruthy();
    x.dispose();
  });
});

describe('bridge', () => {
  it('carries every element type there and back', () => {
    const created = [
      wave([2, 3]),
      tf.tensor1d([1, -2], 'int32'),
      tf.tensor1d([true, false], 'bool'),
      tf.scalar(2.5),
    ];
    withoutLeak(() => {
      for (const x of created) {
        const back = layer.fromNative(layer.toNative(x), x.dtype);
        expect([back.dtype, back.shape, back.dataSync()]).toEqual([x.dtype, x.shape, x.dataSync()]);
        back.dispose();
      }
    });
    tf.dispose(created);
  });

  it.each([[[2, 3]], [[3, 3]], [[]], [[0, 4]]])('carries bfloat16 %j by its bits', (shape) => {
    withoutLeak(() => {
      const x = tf.tidy(() => short(wave(shape)));
      const native = layer.toNative(x);
      expect([native.dtype, native.shape]).toEqual(['bfloat16', shape]);
      const bits = native.read() as Uint16Array;
      const back = layer.fromNative(hostTensor(bits, 'bfloat16', shape), 'float32');
      expect(dtypeOf(back)).toBe('bfloat16');
      expect(back.dataSync()).toEqual(x.dataSync());
      tf.dispose([x, back]);
    });
  });
});

describe('lists', () => {
  const tensors = () => [wave([3, 4]), wave([5], 1), wave([], 2)];
  /** One multiplication and one addition, or the two in one. */
  const SUMS = { rtol: 1e-6, atol: 1e-6 };

  it('add, in place, and keeps others and clones', () => {
    withoutLeak(() => {
      const [list, others] = [tensors(), tensors()];
      const clone = list[0]!.clone();
      const before = [...clone.dataSync()];
      const expected = list.map((x, i) => tf.tidy(() => x.add(others[i]!.mul(-0.5)).dataSync()));
      const sums = layer.lists.add(list, others, -0.5);
      sums.forEach((x, i) => expectClose(x.dataSync(), expected[i]!, SUMS));
      expect([...clone.dataSync()]).toEqual(before);
      tf.dispose([sums, others, clone]);
    });
  });

  it('norm, of lists and of nothing', () => {
    withoutLeak(() => {
      const list = tensors();
      const squares = list.flatMap((x) => [...x.dataSync()]).reduce((sum, x) => sum + x * x, 0);
      const found = layer.lists.norm(list);
      expectClose(found.dataSync(), [Math.sqrt(squares)], { rtol: 1e-6, atol: 0 });
      const none = layer.lists.norm([]);
      expect([...none.dataSync()]).toEqual([0]);
      tf.dispose([list, found, none]);
    });
  });
});

describe('deferred tensors', () => {
  it('load for an operator or a read, share values with clones, and free them', () => {
    withoutLeak(() => {
      let loads = 0;
      const values = wave([6]);
      const deferred = layer.defer!({ shape: [2, 3], dtype: 'float32', held: tf.tensor1d([7, 8]) }, () => {
        loads++;
        deferred.fill(values);
      });
      const clone = deferred.tensor.clone();
      expect([deferred.isFilled, deferred.holders, loads]).toEqual([false, 2, 0]);
      const doubled = tf.mul(clone, 2);
      expectClose(
        doubled.dataSync(),
        values.dataSync().map((x) => 2 * x),
        { rtol: 0, atol: 0 },
      );
      expect([deferred.isFilled, loads]).toEqual([true, 1]);
      deferred.release();
      expect(deferred.isFilled).toBe(false);
      expect(deferred.tensor.dataSync()).toEqual(values.dataSync());
      expect(loads).toBe(2);
      deferred.release();
      const held = deferred.held()!;
      expect([...held.dataSync()]).toEqual([7, 8]);
      tf.dispose([clone, doubled, held]);
      expect(deferred.holders).toBe(1);
      tf.dispose([deferred.tensor, values]);
      expect([deferred.holders, loads]).toEqual([0, 2]);
    });
  });

  it('have the element type of their values, which are loaded for the question', () => {
    withoutLeak(() => {
      const [values, other] = tf.tidy(() => [short(wave([6])), short(wave([3, 4], 1))]);
      const deferred = layer.defer!({ shape: [2, 3], dtype: 'float32' }, () => deferred.fill(values!));
      const product = tf.matMul(deferred.tensor as tf.Tensor2D, other as tf.Tensor2D);
      expect(dtypeOf(product)).toBe('bfloat16');
      deferred.release();
      expect(dtypeOf(deferred.tensor)).toBe('bfloat16');
      deferred.release();
      tf.tidy(() => {
        expect(dtypeOf(tf.exp(deferred.tensor))).toBe('float32');
      });
      tf.dispose([values!, other!, product, deferred.tensor]);
    });
  });
});

describe('after an error of TensorFlow', () => {
  /** Deletes the tensor behind `x`, so that operators on it fail, during `compute`. */
  function withBroken(x: tf.Tensor, compute: () => void): void {
    const [id] = backend.getInputTensorIds([x]);
    const entry = backend.tensorMap.get(x.dataId);
    const spare = backend.binding.executeOp('Identity', [typeOf(entry.dtype)], [id!], 1)[0]!.id;
    backend.binding.deleteTensor(id!);
    try {
      compute();
    } finally {
      entry.id = spare;
    }
  }
  const typeOf = (dtype: number) => ({ name: 'T', type: backend.binding.TF_ATTR_TYPE, value: dtype });

  it('no intermediate tensor stays', () => {
    const [x, y] = [wave([3, 3]), wave([3, 3], 1)];
    const odd = tf.tidy(() => short(wave([3, 3])));
    const [list, mixed] = [[x, y], tf.tidy(() => short(x))];
    const values = wave([9]);
    const deferred = layer.defer!({ shape: [3, 3], dtype: 'float32' }, () => deferred.fill(values));
    const cases: [string, tf.Tensor, () => unknown][] = [
      ['norm', y, () => layer.lists.norm(list)],
      ['add', y, () => layer.lists.add([x], [y], 2)],
      ['to bits', odd, () => layer.toNative(odd)],
      ['read of 16 bits', odd, () => odd.dataSync()],
      ['mix of types', y, () => tf.matMul(mixed, y)],
      ['reshape', values, () => deferred.tensor.dataSync()],
    ];
    const before = x.dataSync();
    for (const [name, broken, compute] of cases) {
      withBroken(broken, () => {
        const stays = backend.binding.getNumOfTensors();
        expect(() => tf.tidy(() => void compute()), name).toThrow();
        expect(backend.binding.getNumOfTensors(), name).toBe(stays);
      });
    }
    expect(x.dataSync()).toEqual(before);
    tf.dispose([x, y, odd, mixed, values, deferred.tensor]);
  });
});
