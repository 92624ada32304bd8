import * as tf from '@tensorflow/tfjs';
import { beforeAll, describe, expect, it } from 'vitest';
import { registerAccBackend } from '@acc/kernels';
import { tensorFrom } from '@acc/native';
import { quantize, type QuantizeOptions } from '../index.js';
import { Hessian } from '../gptq/hessian.js';
import { awqScale } from './awq.js';
import { ChannelStatistics } from './channel-statistics.js';
import { smoothingScale } from './smooth-quant.js';

beforeAll(async () => {
  registerAccBackend();
  await tf.setBackend('acc');
});

const COLUMNS = 64;
const ROWS = 6;
/** Exact in few bits, so that products have no rounding. Few columns are large. */
const wave = (count: number, seed: number) =>
  Float32Array.from({ length: count }, (_, i) => {
    const value = Math.round(Math.sin(1.7 * i + seed) * 64) / 64;
    return i % COLUMNS === 9 || i % COLUMNS === 30 ? 16 * value : value;
  });
const inputs = wave(40 * COLUMNS, 1);
const weights = Float32Array.from(
  { length: ROWS * COLUMNS },
  (_, i) => Math.round(Math.cos(2.3 * i) * 128) / 128,
);

function statistics() {
  const channels = new ChannelStatistics();
  const hessian = new Hessian();
  for (const half of [inputs.subarray(0, 20 * COLUMNS), inputs.subarray(20 * COLUMNS)]) {
    using x = tensorFrom(half.slice(), 'float32', [2, 10, COLUMNS]);
    channels.add(x);
    hessian.add(x);
  }
  return { channels, hessian };
}

const column = (values: Float32Array, k: number) => [...values].filter((_, i) => i % COLUMNS === k);

it('smoothQuant has the factors of the paper', () => {
  const { channels, hessian } = statistics();
  using matrix = tensorFrom(weights, 'float32', [ROWS, COLUMNS]);
  const found = smoothingScale(matrix, channels, 0.75);
  found.forEach((factor, k) => {
    const [x, w] = [inputs, weights].map((values) => Math.max(...column(values, k).map(Math.abs))) as [
      number,
      number,
    ];
    expect(Math.abs((factor * x ** 0.75) / w ** 0.25 - 1)).toBeLessThan(1e-5);
  });
  channels[Symbol.dispose]();
  hessian[Symbol.dispose]();
});

/** Values that int4 in groups of 32 gives, by its definition. */
function rounded(values: number[]): number[] {
  return values.map((value, i) => {
    const from = Math.floor(i / 32) * 32;
    const group = values.slice(from, from + 32);
    const [least, largest] = [Math.min(...group), Math.max(...group)];
    const wide = Math.fround(Math.fround(largest - least) / 15);
    const [scale, zero] = [short(wide), short(Math.fround(least + 8 * wide))];
    const number = Math.min(15, Math.max(0, Math.round((value - zero + 8 * scale) / scale)));
    return zero + (number - 8) * scale;
  });
}

function short(x: number): number {
  const bits = new Uint32Array(Float32Array.of(x).buffer);
  bits[0] = (bits[0]! + 0x7fff + ((bits[0]! >>> 16) & 1)) & 0xffff0000;
  return new Float32Array(bits.buffer)[0]!;
}

it('awq has the exponent whose rounding changes the results least', () => {
  const { channels, hessian } = statistics();
  using matrix = tensorFrom(weights, 'float32', [ROWS, COLUMNS]);
  using derivatives = hessian.matrix();
  const settings = {
    weights: 'int4',
    granularity: { group: 32 },
    algorithm: 'nearest',
    activations: 'none',
  } as const;
  const found = awqScale(matrix, { hessian: derivatives, channels, settings, axis: 'first' });
  const means = Array.from({ length: COLUMNS }, (_, k) => {
    const values = column(inputs, k);
    return values.reduce((sum, value) => sum + Math.abs(value), 0) / values.length;
  });
  const factorsFor = (exponent: number) => {
    const scales = means.map((mean) => Math.max(mean ** exponent, 1e-4));
    const middle = Math.sqrt(Math.max(...scales) * Math.min(...scales));
    return scales.map((scale) => Math.fround(middle / scale));
  };
  /** The squared errors of all results. */
  const errorOf = (factors: number[]) => {
    const values = Array.from({ length: ROWS }, (_, row) => {
      const own = [...weights.subarray(row * COLUMNS, (row + 1) * COLUMNS)];
      return rounded(own.map((value, k) => Math.fround(value / factors[k]!))).map(
        (value, k) => value * factors[k]! - own[k]!,
      );
    });
    let sum = 0;
    for (let row = 0; row < 40; row++) {
      for (const errors of values) {
        sum += errors.reduce((part, error, k) => part + error * inputs[row * COLUMNS + k]!, 0) ** 2;
      }
    }
    return sum;
  };
  const all = Array.from({ length: 20 }, (_, step) => factorsFor(step / 20));
  const best = all.reduce((least, each) => (errorOf(each) < errorOf(least) ? each : least));
  expect(errorOf(best)).toBeLessThan(0.8 * errorOf(all[0]!));
  found.forEach((factor, k) => expect(Math.abs(factor / best[k]! - 1)).toBeLessThan(1e-5));
  channels[Symbol.dispose]();
  hessian[Symbol.dispose]();
});

const model = () =>
  tf.sequential({
    layers: [
      tf.layers.dense({ units: 64, activation: 'relu', inputShape: [COLUMNS], name: 'first' }),
      tf.layers.dense({ units: 8, name: 'head' }),
    ],
  });

describe('a model', () => {
  it.each([
    [{ weights: 'int4', granularity: { group: 32 } }, { algorithm: 'awq' }],
    [{ weights: 'int8', activations: 'dynamic' }, { algorithm: 'smoothQuant' }],
    [
      { weights: 'int8', activations: 'static' },
      { algorithm: 'smoothQuant', smoothQuant: { alpha: 0.6 } },
    ],
  ] as const)('of %o has smaller errors by %o', async (options, change) => {
    const [own, plain, scaled] = [model(), model(), model()];
    for (const each of [plain, scaled]) each.setWeights(own.getWeights());
    const x = tf.tensor2d(inputs, [40, COLUMNS]);
    const data = { calibration: [x] } as const;
    const before = tf.memory().numTensors;
    await quantize(plain, {
      ...options,
      ...('activations' in options && options.activations === 'static' && data),
    });
    const report = await quantize(scaled, { ...options, ...change, ...data } as QuantizeOptions);
    expect(report.map(({ method }) => method)).toEqual([change.algorithm, change.algorithm]);
    const isStatic = 'activations' in options && options.activations === 'static';
    expect(tf.memory().numTensors - before).toBe(isStatic ? 6 : 2);
    const errorOf = (packed: tf.LayersModel) =>
      tf.tidy(() => {
        const difference = tf.sub(packed.predict(x) as tf.Tensor, own.predict(x) as tf.Tensor);
        return tf.mean(tf.square(difference)).dataSync()[0]!;
      });
    expect(errorOf(scaled)).toBeLessThan(0.7 * errorOf(plain));
    // Reading the weight gives what the product multiplies with.
    const kernels = [own, scaled].map((each) =>
      each
        .getLayer('first')
        .weights.find(({ originalName }) => originalName.endsWith('/kernel'))!
        .read(),
    );
    const largest = tf.tidy(() => tf.max(tf.abs(tf.sub(kernels[0]!, kernels[1]!))).dataSync()[0]!);
    expect(largest).toBeLessThan(0.1);
    x.dispose();
    for (const each of [own, plain, scaled]) each.dispose();
  });

  it('is refused where nothing is rounded by it, or ranges are found before', async () => {
    const small = model();
    const x = tf.ones([2, COLUMNS]);
    const images = tf.sequential({
      layers: [tf.layers.conv2d({ filters: 2, kernelSize: 2, inputShape: [4, 4, 8] })],
    });
    const cases: readonly (readonly [tf.LayersModel, object])[] = [
      [small, { weights: 'int8', algorithm: 'smoothQuant', calibration: [x] }],
      [small, { weights: 'int8', algorithm: 'awq' }],
      [small, { weights: 'int8', algorithm: 'awq', activations: 'static', calibration: [x] }],
      [small, { weights: 'int8', smoothQuant: { alpha: 0.5 } }],
      [images, { weights: 'int8', algorithm: 'smoothQuant', activations: 'static', calibration: [x] }],
    ];
    for (const [subject, options] of cases) {
      await expect(quantize(subject, options as QuantizeOptions)).rejects.toMatchObject({
        code: 'ACC_INVALID_OPTION',
      });
    }
    x.dispose();
    small.dispose();
    images.dispose();
  });
});
