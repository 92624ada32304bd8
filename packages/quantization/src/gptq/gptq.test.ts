import * as tf from '@tensorflow/tfjs';
import { beforeAll, describe, expect, it } from 'vitest';
import { packedOf, registerAccBackend } from '@acc/kernels';
import { tensorFrom, memoryStats } from '@acc/native';
import { quantize } from '../index.js';
import { quantizeWhileLoading } from '../quantize.js';
import { gptq, type GptqOptions } from './gptq.js';
import { factorsOf } from './patches.js';

beforeAll(async () => {
  registerAccBackend();
  await tf.setBackend('acc');
});

type Matrix = number[][];

const short = (x: number): number => {
  const bits = new Uint32Array(Float32Array.of(x).buffer);
  bits[0] = (bits[0]! + 0x7fff + ((bits[0]! >>> 16) & 1)) & 0xffff0000;
  return new Float32Array(bits.buffer)[0]!;
};
const even = (x: number): number => {
  const below = Math.floor(x);
  const rest = x - below;
  return rest === 0.5 ? below + (below % 2 === 0 ? 0 : 1) : Math.round(x);
};

/** The lower Cholesky factor. */
function cholesky(matrix: Matrix): Matrix {
  const lower = matrix.map((row) => row.map(() => 0));
  matrix.forEach((row, i) => {
    for (let j = 0; j <= i; j++) {
      let sum = row[j]!;
      for (let k = 0; k < j; k++) sum -= lower[i]![k]! * lower[j]![k]!;
      lower[i]![j] = i === j ? Math.sqrt(sum) : sum / lower[j]![j]!;
    }
  });
  return lower;
}

function inverse(matrix: Matrix): Matrix {
  const n = matrix.length;
  const rows = matrix.map((row, i) => Float64Array.of(...row, ...row.map((_, j) => (i === j ? 1 : 0))));
  for (let i = 0; i < n; i++) {
    const [own, pivot] = [rows[i]!, rows[i]![i]!];
    for (let k = 0; k < 2 * n; k++) own[k]! /= pivot;
    for (const other of rows) {
      const factor = other === own ? 0 : other[i]!;
      for (let k = 0; k < 2 * n; k++) other[k]! -= factor * own[k]!;
    }
  }
  return rows.map((row) => [...row.slice(n)]);
}

interface Reference extends Omit<GptqOptions, 'granularity'> {
  readonly group: number;
}

/** GPTQ by its definition, one value after the other (algorithm 1 of the paper, without blocks). */
function reference(
  weights: Matrix,
  hessian: Matrix,
  { weights: format, group, damping, actOrder }: Reference,
) {
  const n = hessian.length;
  const diagonal = hessian.map((row, i) => row[i]! || 1);
  const damped = damping * (diagonal.reduce((a, b) => a + b) / n);
  const full = hessian.map((row, i) => row.map((value, j) => (i === j ? diagonal[i]! + damped : value)));
  const order = Array.from({ length: n }, (_, i) => i);
  if (actOrder) order.sort((a, b) => diagonal[b]! - diagonal[a]!);
  const lower = cholesky(inverse(order.map((i) => order.map((j) => full[i]![j]!))));
  return weights.map((row) => {
    const values = [...row];
    const grids = new Map<number, (value: number) => { number: number; rounded: number }>();
    const numbers = row.map(() => 0);
    order.forEach((column, at) => {
      const index = Math.floor(column / group);
      if (!grids.has(index)) {
        const from = actOrder || group === n ? row : values;
        grids.set(index, gridOf(from.slice(index * group, (index + 1) * group), format));
      }
      const { number, rounded } = grids.get(index)!(values[column]!);
      numbers[column] = number;
      const error = (values[column]! - rounded) / lower[at]![at]!;
      for (let k = at + 1; k < n; k++) values[order[k]!]! -= error * lower[k]![at]!;
    });
    return numbers;
  });
}

function gridOf(values: number[], format: 'int8' | 'int4') {
  const narrow = values.map(Math.fround);
  if (format === 'int8') {
    const scale = Math.fround(Math.max(...narrow.map(Math.abs)) / 127);
    return (value: number) => {
      const number = Math.min(127, Math.max(-127, even(value / scale)));
      return { number, rounded: number * scale };
    };
  }
  const [least, largest] = [Math.min(...narrow), Math.max(...narrow)];
  const wide = Math.max(Math.fround(Math.fround(largest - least) / 15), 1e-6);
  const [scale, zero] = [short(wide), short(Math.fround(least + wide * 8))];
  return (value: number) => {
    const number = Math.min(15, Math.max(0, even((value - (zero - 8 * scale)) / scale)));
    return { number, rounded: zero + (number - 8) * scale };
  };
}

function random(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state / 2 ** 31 - 1;
  };
}

const ROWS = 3;
const COLUMNS = 160;

/** A matrix, and the Hessian of inputs that depend on each other. One column of them is always 0. */
const example = (() => {
  const next = random(7);
  const weights = Array.from({ length: ROWS }, () =>
    Array.from({ length: COLUMNS }, () => Math.fround(next())),
  );
  const inputs = Array.from({ length: 100 }, () => {
    const common = next();
    return Array.from({ length: COLUMNS }, (_, i) => (i === 5 ? 0 : next() * (1 + (i % 7)) + 3 * common));
  });
  const hessian = weights[0]!.map((_, i) =>
    weights[0]!.map((__, j) => (2 / inputs.length) * inputs.reduce((sum, x) => sum + x[i]! * x[j]!, 0)),
  );
  return { weights, hessian };
})();

describe('gptq', () => {
  it.each([
    { weights: 'int4', group: 32, actOrder: false },
    { weights: 'int4', group: 32, actOrder: true },
    { weights: 'int8', group: COLUMNS, actOrder: false },
  ] as const)('has the numbers of the paper (%o)', ({ weights: format, group, actOrder }) => {
    const { weights, hessian } = example;
    using matrix = tensorFrom(Float32Array.from(weights.flat()), 'float32', [ROWS, COLUMNS]);
    using derivatives = tensorFrom(Float64Array.from(hessian.flat()), 'float64', [COLUMNS, COLUMNS]);
    const before = memoryStats().allocatedBytes;
    {
      const granularity = group === 32 ? { group } : 'row';
      using found = gptq(matrix, derivatives, { weights: format, granularity, damping: 0.01, actOrder });
      const expected = reference(weights, hessian, { weights: format, group, damping: 0.01, actOrder });
      const numbers = [...(found.numbers.read() as Float64Array)];
      // Sums in another order may move a value across the middle of two numbers.
      const differing = numbers.filter((number, i) => number !== expected.flat()[i]);
      expect(differing.length).toBeLessThanOrEqual(1);
    }
    expect(memoryStats().allocatedBytes).toBe(before);
  });
});

/** Rows under the filters by the definition. */
function patchesOf(x: number[][][], [height, width]: [number, number], stride: number): number[][] {
  const rows: number[][] = [];
  for (let i = 0; i + height <= x.length; i += stride) {
    for (let j = 0; j + width <= x[0]!.length; j += stride) {
      rows.push(x.slice(i, i + height).flatMap((line) => line.slice(j, j + width).flat()));
    }
  }
  return rows;
}

describe('the rows that a convolution multiplies', () => {
  it('are the values under its filter', () => {
    tf.tidy(() => {
      const layer = tf.layers.conv2d({ filters: 2, kernelSize: [3, 2], strides: 2 });
      const x = tf.randomNormal([1, 7, 6, 4], 0, 1, 'float32', 1) as tf.Tensor4D;
      const found = factorsOf({ layer, className: 'Conv2D', isProduct: false } as never, x);
      expect(tf.reshape(found, [-1, 24]).arraySync()).toEqual(patchesOf(x.arraySync()[0]!, [3, 2], 2));
    });
  });

  it.each([
    () => tf.layers.conv2d({ filters: 3, kernelSize: 3, padding: 'same', strides: 2, useBias: false }),
    () => tf.layers.conv2d({ filters: 3, kernelSize: 2, padding: 'same', dilationRate: 2, useBias: false }),
  ])('give its results, also with padding and dilation', (make) => {
    const layer = make();
    tf.tidy(() => {
      const x = tf.randomNormal([2, 8, 7, 4], 0, 1, 'float32', 1);
      const y = layer.apply(x) as tf.Tensor;
      const rows = factorsOf({ layer, className: 'Conv2D', isProduct: false } as never, x);
      const kernel = tf.reshape(layer.weights[0]!.read(), [-1, 3]) as tf.Tensor2D;
      const product = tf.reshape(
        tf.matMul(tf.reshape(rows, [-1, kernel.shape[0]]) as tf.Tensor2D, kernel),
        y.shape,
      );
      expect(tf.max(tf.abs(tf.sub(product, y))).dataSync()[0]!).toBeLessThan(1e-4);
    });
    layer.dispose();
  });
});

const model = () =>
  tf.sequential({
    layers: [
      tf.layers.conv2d({
        filters: 16,
        kernelSize: 2,
        activation: 'relu',
        inputShape: [5, 5, 8],
        name: 'conv',
      }),
      tf.layers.flatten(),
      tf.layers.dense({ units: 64, activation: 'relu', name: 'middle' }),
      tf.layers.dense({ units: 8, name: 'head' }),
    ],
  });

const kernelOf = (of: tf.LayersModel, layer: string) =>
  of
    .getLayer(layer)
    .weights.find(({ originalName }) => originalName.endsWith('/kernel'))!
    .read();

/** Images whose values depend on each other. */
const images = (seed: number) =>
  tf.tidy(() => {
    const common = tf.randomNormal([24, 1, 1, 8], 0, 1, 'float32', seed);
    return tf.add(common, tf.randomNormal([24, 5, 5, 8], 0, 0.3, 'float32', seed + 1));
  });

it.each([
  { weights: 'int4', granularity: { group: 32 } },
  { weights: 'int4', granularity: { group: 32 }, gptq: { actOrder: true, damping: 0.05 } },
] as const)('layers packed by GPTQ change the results less than nearest numbers do: %o', async (options) => {
  const [own, nearest, byGptq] = [model(), model(), model()];
  for (const each of [nearest, byGptq]) each.setWeights(own.getWeights());
  const calibration = [images(1), images(3)];
  const tensors = tf.memory().numTensors;
  const { gptq: _, ...plain } = { gptq: undefined, ...options };
  await quantize(nearest, plain);
  const report = await quantize(byGptq, { ...options, algorithm: 'gptq', calibration });
  expect(tf.memory().numTensors).toBe(tensors);
  expect(report.map(({ layer, method }) => [layer, method])).toEqual([
    ['conv', 'gptq'],
    ['middle', 'gptq'],
    ['head', 'gptq'],
  ]);
  for (const each of report) expect(each.outputSqnr!).toBeGreaterThan(each.sqnr);
  const errorOf = (packed: tf.LayersModel) =>
    tf.tidy(() => {
      const x = calibration[0]!;
      const difference = tf.sub(packed.predict(x) as tf.Tensor, own.predict(x) as tf.Tensor);
      return tf.mean(tf.square(difference)).dataSync()[0]!;
    });
  expect(errorOf(byGptq)).toBeLessThan(0.7 * errorOf(nearest));
  expect(packedOf(kernelOf(byGptq, 'middle'))).toBeDefined();
  tf.dispose(calibration);
  for (const each of [own, nearest, byGptq]) each.dispose();
});

it('a Hessian of few rows needs damping, which a budget of bits has too', async () => {
  const small = model();
  const calibration = [images(1)];
  const report = await quantize(small, { bitsPerWeight: 6, algorithm: 'gptq', calibration });
  expect(report.every(({ method }) => method === 'gptq')).toBe(true);
  const bits = report.reduce((sum, each) => sum + 8 * each.bytes, 0);
  expect(bits / (4 * 8 * 16 + 256 * 64 + 64 * 8)).toBeLessThan(6);
  tf.dispose(calibration);
  small.dispose();
});

it('is refused for layers whose rows are not known, and without data', async () => {
  const recurrent = tf.sequential({ layers: [tf.layers.lstm({ units: 32, inputShape: [3, 32] })] });
  const x = tf.ones([2, 3, 32]);
  const refused = { code: 'ACC_INVALID_OPTION' };
  const options = { weights: 'int8', algorithm: 'gptq' } as const;
  await expect(quantize(recurrent, { ...options, calibration: [x] })).rejects.toMatchObject(refused);
  const other = model();
  await expect(quantize(other, options)).rejects.toMatchObject(refused);
  await expect(quantize(other, { ...options, calibration: 'stored' })).rejects.toMatchObject(refused);
  await expect(quantize(other, { ...options, weights: 'nf4', calibration: [x] })).rejects.toMatchObject(
    refused,
  );
  await expect(quantize(other, { weights: 'int8', gptq: { actOrder: true } })).rejects.toMatchObject(refused);
  for (const other of [{ algorithm: 'gptq' }, { algorithm: 'awq' }, { smoothQuant: {} }] as const) {
    expect(() => quantizeWhileLoading(recurrent, { weights: 'int8', ...other })).toThrow(
      expect.objectContaining(refused),
    );
  }
  x.dispose();
  recurrent.dispose();
  other.dispose();
});
