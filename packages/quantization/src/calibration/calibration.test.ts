import { readFileSync } from 'node:fs';
import * as tf from '@tensorflow/tfjs';
import { beforeAll, describe, expect, it } from 'vitest';
import { packedOf, registerAccBackend } from '@acc/kernels';
import { tensorFrom } from '@acc/native';
import { livePatches } from '@acc/tfjs-internals';
import { quantize, type QuantizeOptions } from '../index.js';
import { Histogram, type Limits } from './histogram.js';
import { observerOf, type ObserverName } from './observers.js';
import { leastErrorRange } from './range-search.js';

/** The ranges of PyTorch for {@link BATCHES}: fixtures/calibration.py. */
const fixture = JSON.parse(
  readFileSync(new URL('../../fixtures/calibration.json', import.meta.url), 'utf8'),
) as Readonly<
  Record<'minMax' | 'movingAverage' | 'histogram', { readonly scale: number; readonly zero: number }>
>;

beforeAll(async () => {
  registerAccBackend();
  await tf.setBackend('acc');
});

/** See fixtures/calibration.py. */
function batchOf(seed: number, scale: number, shift = 0, count = 4096): Float32Array {
  let state = seed;
  return Float32Array.from({ length: count }, () => {
    state = Number((BigInt(state) * 1664525n + 1013904223n) % 4294967296n);
    const u = Math.floor(state / 2 ** 8) / 2 ** 23 - 1;
    return Math.fround(u * u * u * scale) + shift;
  });
}

const BATCHES = [batchOf(1, 1), batchOf(2, 3), batchOf(3, 2, 0.25)];

function rangeBy(name: ObserverName): Limits {
  const observer = observerOf(name);
  for (const values of BATCHES) {
    using x = tensorFrom(values, 'float32', [values.length]);
    observer.see(x);
  }
  return observer.range();
}

/** As PyTorch has it for qint8. */
function numbersOf([least, largest]: Limits): { scale: number; zero: number } {
  const [low, high] = [Math.min(least, 0), Math.max(largest, 0)];
  const scale = (high - low) / 255;
  return { scale, zero: -128 - Math.round(low / scale) };
}

describe('observers', () => {
  it.each(['minMax', 'movingAverage', 'histogram'] as const)('%s has the scale of PyTorch', (name) => {
    const { scale, zero } = numbersOf(rangeBy(name));
    expect(Math.abs(scale / fixture[name].scale - 1)).toBeLessThan(1e-5);
    expect(zero).toBe(fixture[name].zero);
  });

  it('mse has the share of the range whose rounding errs least', () => {
    const histogram = new Histogram();
    const all = Float32Array.from(BATCHES.flatMap((each) => [...each]));
    const limits = [Math.min(...all), Math.max(...all)] as const;
    using x = tensorFrom(all, 'float32', [all.length]);
    histogram.add(x, limits);
    const errorOf = (share: number) => {
      const { scale, zero } = numbersOf([limits[0] * share, limits[1] * share]);
      return all.reduce((sum, value) => {
        const number = Math.min(127, Math.max(-128, Math.round(value / scale) + zero));
        return sum + (value - (number - zero) * scale) ** 2;
      }, 0);
    };
    const found = leastErrorRange(histogram)[1] / limits[1];
    expect(errorOf(found)).toBeLessThan(1.02 * Math.min(...[0.5, 0.7, 0.8, 0.9, 1].map(errorOf)));
    // A few far values among many small ones are left out.
    const far = Float32Array.from({ length: 4096 }, (_, i) => (i === 7 ? 4 : Math.sin(i) / 8));
    const narrow = new Histogram();
    using y = tensorFrom(far, 'float32', [far.length]);
    narrow.add(y, [Math.min(...far), 4]);
    expect(leastErrorRange(narrow)[1]).toBeLessThan(4);
  });

  it('take inputs that are all one value', () => {
    for (const name of ['histogram', 'mse'] as const) {
      const observer = observerOf(name);
      using x = tensorFrom(Float32Array.of(2, 2, 2), 'float32', [3]);
      observer.see(x);
      expect(observer.range()).toEqual([2, 2]);
    }
  });
});

const dense = () =>
  tf.sequential({
    layers: [
      tf.layers.dense({ units: 64, activation: 'relu', inputShape: [32], name: 'first' }),
      tf.layers.dense({ units: 8, name: 'head' }),
    ],
  });
const images = () =>
  tf.sequential({
    layers: [
      tf.layers.conv2d({
        filters: 8,
        kernelSize: 3,
        activation: 'relu',
        inputShape: [6, 6, 4],
        name: 'conv',
      }),
      tf.layers.flatten(),
      tf.layers.dense({ units: 8, name: 'head' }),
    ],
  });

const STATIC = { weights: 'int8', activations: 'static' } as const;

const inputs = (model: tf.LayersModel, seed: number): tf.Tensor =>
  tf.randomNormal([16, ...(model.inputs[0]!.shape.slice(1) as number[])], 0, 1, 'float32', seed);

/** The weight `input_range` of a layer: the least and the largest value. */
function rangeOf(model: tf.LayersModel, layer: string): Limits {
  const weight = model
    .getLayer(layer)
    .weights.find(({ originalName }) => originalName.endsWith('input_range'))!;
  const [turned, largest] = weight.read().dataSync() as unknown as [number, number];
  return [-turned, largest];
}

describe("activations: 'static'", () => {
  it('multiplies whole numbers as the definition has it', async () => {
    const model = dense();
    const x = inputs(model, 3);
    const kernel = model.getLayer('first').weights[0]!.read() as tf.Variable;
    await quantize(model, { ...STATIC, observer: 'minMax', calibration: [x] });
    const values = x.dataSync();
    const { scale, zero } = numbersOf(rangeOf(model, 'first'));
    expect(rangeOf(model, 'first')).toEqual([Math.min(...values), Math.max(...values)]);
    const packed = packedOf(kernel)!;
    const numbers = packed.tensors[0]!.read() as Int8Array;
    const scales = packed.tensors[1]!.read() as Float32Array;
    const expected = Float32Array.from({ length: 16 * 64 }, (_, at) => {
      const [row, unit] = [Math.floor(at / 64), at % 64];
      let sum = 0;
      for (let k = 0; k < 32; k++) {
        const number = Math.round(values[row * 32 + k]! / scale) + zero;
        sum += (Math.min(127, Math.max(-128, number)) - zero) * numbers[unit * 32 + k]!;
      }
      return Math.max(0, sum * scale * scales[unit]!);
    });
    const found = tf.tidy(() => (model.getLayer('first').apply(x) as tf.Tensor).dataSync());
    const largest = Math.max(...expected);
    found.forEach((value, i) => expect(Math.abs(value - expected[i]!)).toBeLessThan(0.02 * largest));
    const differing = found.filter((value, i) => Math.abs(value - expected[i]!) > 1e-5 * largest);
    // A value in the middle of two numbers may be rounded to either.
    expect(differing.length).toBeLessThan(64);
    x.dispose();
    model.dispose();
  });

  it.each([dense, images])(
    'predicts as before to the rounding of 8 bits, and frees all it makes (%o)',
    async (make) => {
      const model = make();
      const batches = [inputs(model, 1), inputs(model, 2)];
      const expected = model.predict(batches[0]!) as tf.Tensor;
      const before = { tensors: tf.memory().numTensors, patches: livePatches().length };
      for (const observer of ['minMax', 'movingAverage', 'histogram', 'mse'] as const) {
        const other = make();
        other.setWeights(model.getWeights());
        const report = await quantize(other, { ...STATIC, observer, calibration: batches });
        expect(report[0]).toMatchObject({ method: 'nearest', milliseconds: expect.any(Number) as number });
        const found = other.predict(batches[0]!) as tf.Tensor;
        const [error, largest] = tf.tidy(() => [
          tf.max(tf.abs(tf.sub(found, expected))).dataSync()[0]!,
          tf.max(tf.abs(expected)).dataSync()[0]!,
        ]) as [number, number];
        expect(error, observer).toBeGreaterThan(0);
        expect(error, observer).toBeLessThan(0.06 * largest);
        found.dispose();
        other.dispose();
      }
      expect({ tensors: tf.memory().numTensors, patches: livePatches().length }).toEqual(before);
      tf.dispose([...batches, expected]);
      model.dispose();
    },
  );

  it('takes batches of data sets, with targets and by name', async () => {
    const rows = tf.randomNormal([8, 32], 0, 1, 'float32', 1);
    const generated = async function* () {
      yield { xs: rows.clone(), ys: { a: tf.ones([8, 8]) } };
      yield await Promise.resolve([rows.clone()]);
    };
    const forms: ((name: string) => NonNullable<QuantizeOptions['calibration']>)[] = [
      () => rows,
      () => [rows],
      (name) => [{ [name]: rows }],
      (name) => [{ xs: { [name]: rows }, ys: rows }],
      () => generated(),
      () => tf.data.array((rows.arraySync() as number[][]).map((xs) => ({ xs }))).batch(8) as never,
    ];
    const ranges: Limits[] = [];
    for (const form of forms) {
      const other = dense();
      const calibration = form(other.inputs[0]!.name);
      const tensors = tf.memory().numTensors;
      await quantize(other, { ...STATIC, layers: ['first'], observer: 'minMax', calibration });
      // The range is a weight. The list has the rows and targets of one form.
      expect(tf.memory().numTensors).toBeLessThanOrEqual(tensors + 1);
      ranges.push(rangeOf(other, 'first'));
      other.dispose();
    }
    for (const each of ranges) expect(each).toEqual(ranges[0]);
    tf.dispose(rows);
  });

  it("with calibration: 'stored' waits for the ranges of a file", async () => {
    const [model, other] = [dense(), dense()];
    const x = inputs(model, 3);
    await quantize(model, { ...STATIC, calibration: [x] });
    await quantize(other, { ...STATIC, calibration: 'stored' });
    expect(() => other.predict(x)).toThrow(expect.objectContaining({ code: 'ACC_CALIBRATION_DATA' }));
    const names = (each: tf.LayersModel) => each.weights.map(({ originalName }) => originalName);
    expect(names(other)).toEqual(names(model));
    x.dispose();
    model.dispose();
    other.dispose();
  });
});

describe('is refused', () => {
  const codeOf = (run: Promise<unknown>) =>
    run.then(
      () => 'nothing thrown',
      (error: { code?: string }) => error.code,
    );

  it('without data, for data that do not fit, and for values that are not finite', async () => {
    const model = dense();
    const before = tf.memory().numTensors;
    const x = tf.ones([4, 32]);
    const bad = tf.fill([4, 32], NaN);
    const wide = tf.ones([4, 33]);
    const cases: readonly (readonly [object, string])[] = [
      [STATIC, 'ACC_INVALID_OPTION'],
      [{ weights: 'int8', calibration: [x] }, 'ACC_INVALID_OPTION'],
      [{ ...STATIC, weights: 'int4', calibration: [x] }, 'ACC_INVALID_OPTION'],
      [{ weights: 'int8', observer: 'mse' }, 'ACC_INVALID_OPTION'],
      [{ ...STATIC, calibration: 'stored', observer: 'mse' }, 'ACC_INVALID_OPTION'],
      [{ ...STATIC, calibration: [] }, 'ACC_CALIBRATION_DATA'],
      [{ ...STATIC, calibration: 7 }, 'ACC_CALIBRATION_DATA'],
      [{ ...STATIC, calibration: tf.data.array([1, 2]).repeat().batch(2) }, 'ACC_CALIBRATION_DATA'],
      [{ ...STATIC, calibration: [wide] }, 'ACC_CALIBRATION_DATA'],
      [{ ...STATIC, calibration: [[x, x]] }, 'ACC_CALIBRATION_DATA'],
      [{ ...STATIC, calibration: [{ other: x }] }, 'ACC_CALIBRATION_DATA'],
      [{ ...STATIC, calibration: [x, bad] }, 'ACC_CALIBRATION_DATA'],
    ];
    for (const [options, code] of cases) {
      expect(await codeOf(quantize(model, options as QuantizeOptions)), JSON.stringify(options)).toBe(code);
    }
    tf.dispose([x, bad, wide]);
    expect(tf.memory().numTensors).toBe(before);
    expect((await quantize(model, { weights: 'int8' })).length).toBe(2);
    model.dispose();
  });

  it('for a layer whose inputs overflow, with its name', async () => {
    const model = dense();
    const variable = model.getLayer('first').weights[1]!.read() as tf.Variable;
    tf.tidy(() => variable.assign(tf.fill([64], 3e38)));
    tf.tidy(() =>
      (model.getLayer('first').weights[0]!.read() as tf.Variable).assign(tf.fill([32, 64], 1e37)),
    );
    const x = tf.fill([2, 32], 100);
    await expect(quantize(model, { ...STATIC, calibration: [x] })).rejects.toMatchObject({
      code: 'ACC_CALIBRATION_DATA',
      message: expect.stringContaining("'head'") as string,
    });
    x.dispose();
    model.dispose();
  });
});
