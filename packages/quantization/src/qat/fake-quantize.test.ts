import * as tf from '@tensorflow/tfjs';
import { beforeAll, describe, expect, it } from 'vitest';
import { registerAccBackend, requireAcc, type ChannelAxis, type Granularity } from '@acc/kernels';
import { operatorWithResults, type Tensor as NativeTensor } from '@acc/native';
import { expectClose } from '@acc/testkit';
import { quantizeVariable } from '../index.js';
import { firstScales, roundByLearned, roundInput, roundWeight } from './fake-quantize.js';
import { groupViewOf } from './group-view.js';

beforeAll(async () => {
  registerAccBackend();
  await tf.setBackend('acc');
});

type Format = readonly ['int8' | 'int4', Granularity, ChannelAxis];

const FORMATS: readonly Format[] = [
  ['int8', 'row', 'last'],
  ['int8', 'row', 'first'],
  ['int8', 'tensor', 'last'],
  ['int8', { group: 32 }, 'last'],
  ['int8', { group: 32 }, 'first'],
  ['int4', { group: 32 }, 'last'],
  ['int4', { group: 32 }, 'first'],
];

const SHAPE: [number, number, number, number] = [2, 4, 8, 64];

const roundingOf = ([weights, granularity, axis]: Format) => ({
  weights,
  view: groupViewOf(SHAPE, axis, granularity),
});

const values = (shape: number[], seed: number, width = 1) =>
  tf.randomUniform(shape, -width, width, 'float32', seed);

/** For each value of a weight, the index of its scale, by the definition of rows and groups. */
function scaleIndexes([, granularity, axis]: Format): number[] {
  const size = tf.util.sizeFromShape(SHAPE);
  const channels = axis === 'first' ? SHAPE[0] : SHAPE[3];
  const columns = size / channels;
  return Array.from({ length: size }, (_, i) => {
    const channel = axis === 'first' ? Math.floor(i / columns) : i % channels;
    const column = axis === 'first' ? i % columns : Math.floor(i / channels);
    if (granularity === 'tensor') return 0;
    const group = granularity === 'row' ? 0 : Math.floor(column / granularity.group);
    const groups = granularity === 'row' ? 1 : columns / granularity.group;
    return axis === 'first' ? channel * groups + group : group * channels + channel;
  });
}

describe.each(FORMATS)('a weight rounded to %s by %o, channels %s', (...format) => {
  const [weights, granularity, axis] = format;

  it('has the values of its packed form', () => {
    const variable = tf.tidy(() => tf.variable(values(SHAPE, 3)));
    const rounded = tf.tidy(() => roundWeight(variable, roundingOf(format)).dataSync());
    quantizeVariable(variable, { weights, granularity, axis });
    // Without the sign of zero, which whole numbers do not have.
    expect(rounded.map((each) => each + 0)).toEqual(variable.dataSync());
    variable.dispose();
  });

  it('passes gradients to the values that are in range', () => {
    tf.tidy(() => {
      // Far from 0, the bfloat16 zeros of int4 leave some values out of range.
      const w = weights === 'int8' ? values(SHAPE, 4) : tf.add(values(SHAPE, 4, 0.05), 3);
      const dy = values(SHAPE, 5);
      const rounded = roundWeight(w, roundingOf(format)).dataSync();
      const found = tf
        .grad((x: tf.Tensor) => roundWeight(x, roundingOf(format)))(w, dy)
        .dataSync();
      const before = w.dataSync();
      const given = dy.dataSync();
      const index = scaleIndexes(format);
      // A value out of range is one that lies beyond the outermost number of its group by more than half a step.
      const groups = new Map<number, number[]>();
      index.forEach((group, i) => groups.set(group, [...(groups.get(group) ?? []), i]));
      const stopped = [...groups.values()].flatMap((places) => {
        const numbers = [...new Set(places.map((i) => rounded[i]!))].sort((a, b) => a - b);
        const step = Math.min(...numbers.slice(1).map((each, i) => each - numbers[i]!));
        return weights === 'int8'
          ? []
          : places.filter((i) => Math.abs(before[i]! - rounded[i]!) > 0.5001 * step);
      });
      const expected = given.map((each, i) => (stopped.includes(i) ? 0 : each));
      expect(found.map((each) => each + 0)).toEqual(expected);
      if (weights === 'int4') expect(stopped.length).toBeGreaterThan(0);
    });
  });

  it('learns its scales by the formula of LSQ', () => {
    tf.tidy(() => {
      const w = values(SHAPE, 6);
      const dy = values(SHAPE, 7);
      const rounding = roundingOf(format);
      const scales = tf.mul(firstScales(w, rounding), weights === 'int8' ? 0.05 : 0.25);
      const [dw, ds] = tf.grads((x: tf.Tensor, s: tf.Tensor) => roundByLearned(x, s, rounding))(
        [w, scales],
        dy,
      ) as [tf.Tensor, tf.Tensor];
      const rounded = roundByLearned(w, scales, rounding).dataSync();
      const expected = plainLsq({ w, dy, scales }, format);
      expectClose(rounded, expected.rounded, { rtol: 1e-6, atol: 1e-7 });
      expectClose(dw.dataSync(), expected.dw);
      expectClose(ds.dataSync(), expected.ds, { rtol: 1e-4, atol: 1e-5 });
      expect(expected.dw.filter((each) => each === 0).length).toBeGreaterThan(100);
    });
  });
});

interface Given {
  readonly w: tf.Tensor;
  readonly dy: tf.Tensor;
  readonly scales: tf.Tensor;
}

/** One value after the other, in float64. */
function plainLsq({ w, dy, scales }: Given, format: Format) {
  const [least, largest] = format[0] === 'int8' ? [-127, 127] : [-8, 7];
  const [before, given] = [w.dataSync(), dy.dataSync()];
  const steps = [...scales.dataSync()].map((each) => (format[0] === 'int8' ? each : toBfloat16(each)));
  const index = scaleIndexes(format);
  const ds = steps.map(() => 0);
  const count = before.length / steps.length;
  const dw = new Float32Array(before.length);
  const rounded = [...before].map((value, i) => {
    const step = steps[index[i]!]!;
    const whole = Math.round(value / step);
    const number = Math.min(largest, Math.max(least, whole));
    const isInside = whole === number;
    if (isInside) dw[i] = given[i]!;
    const slope = isInside ? number - value / step : number;
    ds[index[i]!]! += (given[i]! * slope) / Math.sqrt(count * largest);
    return number * step;
  });
  return { rounded, dw: [...dw], ds };
}

function toBfloat16(x: number): number {
  const bits = new Uint32Array(Float32Array.of(x).buffer);
  bits[0] = ((bits[0]! + 0x7fff + ((bits[0]! >>> 16) & 1)) & 0xffff0000) >>> 0;
  return new Float32Array(bits.buffer)[0]!;
}

const native = (x: tf.Tensor): NativeTensor => requireAcc().native(x);

const results = (name: string, ...args: unknown[]): Float32Array[] =>
  operatorWithResults(name)(...(args as never[])).map((each) => {
    using tensor = each as NativeTensor;
    return Float32Array.from(tensor.read() as Float32Array, Number);
  });

it("an input is rounded as by libtorch's fake_quantize_per_tensor_affine", () => {
  tf.tidy(() => {
    const [x, dy] = [values([64, 33], 8, 3), values([64, 33], 9)];
    const [scale, zero] = [0.011, 37];
    const round = (given: tf.Tensor) => roundInput(given, { scale: tf.scalar(scale), zero: tf.scalar(zero) });
    const [expected, inside] = results(
      'aten::fake_quantize_per_tensor_affine_cachemask',
      ...[native(x), scale, zero, -128, 127],
    );
    expectClose(round(x).dataSync(), expected!, { rtol: 1e-6, atol: 1e-7 });
    const found = tf.grad(round)(x, dy).dataSync();
    expectClose(
      found,
      dy.dataSync().map((each, i) => each * inside![i]!),
    );
    expect(inside!.some((each) => each === 0)).toBe(true);
  });
});

it("gradients of learned scales are those of libtorch's learnable fake quantization", () => {
  tf.tidy(() => {
    const format: Format = ['int8', 'row', 'last'];
    const [w, dy] = [values(SHAPE, 10), values(SHAPE, 11)];
    const rounding = roundingOf(format);
    const scales = tf.mul(firstScales(w, rounding), 0.05);
    const [dw, ds] = tf.grads((x: tf.Tensor, s: tf.Tensor) => roundByLearned(x, s, rounding))(
      [w, scales],
      dy,
    ) as [tf.Tensor, tf.Tensor];
    const [ofValues, ofScales] = results(
      'aten::_fake_quantize_learnable_per_channel_affine_backward',
      ...[native(dy), native(w), native(tf.reshape(scales, [64])), native(tf.zeros([64]))],
      ...[3, -127, 127, 1 / Math.sqrt(64 * 127)],
    );
    expectClose(dw.dataSync(), ofValues!);
    expectClose(ds.dataSync(), ofScales!, { rtol: 1e-4, atol: 1e-5 });
  });
});
