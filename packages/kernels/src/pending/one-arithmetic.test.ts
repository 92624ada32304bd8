import * as tf from '@tensorflow/tfjs';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import type { NativeDtype, Recording } from '@acc/contract';
import { numThreads, operator, setNumThreads } from '@acc/native';
import type { AccBackend } from '../backend.js';
import { StepRecorder } from '../recording/recorder.js';
import { registerAccBackend } from '../register-backend.js';
import { pendingCount, setMinElements } from './all-pending.js';

// Operators give the same bits alone, when their results wait, and in a program of a compiled step.

let recorder: StepRecorder;
const threads = numThreads();
beforeAll(async () => {
  registerAccBackend();
  await tf.setBackend('acc');
  recorder = new StepRecorder(tf.backend() as AccBackend);
});
afterAll(() => setNumThreads(threads));

type Operator = (a: tf.Tensor, b: tf.Tensor) => tf.Tensor;
const gradientOf = (f: (x: tf.Tensor) => tf.Tensor): Operator => {
  const gradient = tf.grad((x) => f(x));
  return (a, b) => gradient(a, b);
};

const OPERATORS: Readonly<Record<string, Operator>> = {
  add: (a, b) => a.add(b),
  sub: (a, b) => a.sub(b),
  mul: (a, b) => a.mul(b),
  div: (a, b) => a.div(b),
  'add a number': (a) => a.add(0.1),
  'sub a number': (a) => a.sub(0.1),
  'mul by a number': (a) => a.mul(0.1),
  'div by a number': (a) => a.div(0.3),
  maximum: (a, b) => a.maximum(b),
  minimum: (a, b) => a.minimum(b),
  squaredDifference: (a, b) => tf.squaredDifference(a, b),
  neg: (a) => a.neg(),
  abs: (a) => a.abs(),
  square: (a) => a.square(),
  sqrt: (a) => a.sqrt(),
  rsqrt: (a) => a.rsqrt(),
  reciprocal: (a) => a.reciprocal(),
  relu: (a) => a.relu(),
  tanh: (a) => a.tanh(),
  sigmoid: (a) => a.sigmoid(),
  exp: (a) => a.exp(),
  log: (a) => a.log(),
  erf: (a) => tf.erf(a),
  ...Object.fromEntries([-2, -1, -0.5, 0.5, 2, 3].map((n) => [`pow ${n}`, (a: tf.Tensor) => a.pow(n)])),
  ...Object.fromEntries(
    [-1, 0.5, 1.5, 2, 3, 4].map((n) => [`gradient of pow ${n}`, gradientOf((x) => x.pow(n))]),
  ),
  'gradient of tanh': gradientOf(tf.tanh),
  'gradient of sigmoid': gradientOf(tf.sigmoid),
  'a GELU': (a) =>
    a.mul(0.5).mul(
      a
        .add(a.pow(3).mul(0.044715))
        .mul(Math.sqrt(2 / Math.PI))
        .tanh()
        .add(1),
    ),
};

/** Below, at and above the vectors of any CPU and the blocks of a program. */
const SMALL = inject('isRelease')
  ? Array.from({ length: 40 }, (_, i) => i + 1)
  : [1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 31, 32, 33];
const SIZES = [...SMALL, 1023, 1024, 1045, 2 ** 15 + 7];
/** Two threads get a part each, and three. */
const SIZES_OF_THREADS = [2 ** 17 + 7, 2 ** 17 + 2 ** 16 + 1045];
const SPECIAL = [
  0,
  -0,
  NaN,
  Infinity,
  -Infinity,
  1e-40,
  -1e-40,
  3e38,
  -3e38,
  1e-30,
  89,
  -88.5,
  -104,
  20,
  -20,
];

const toBfloat16 = operator('aten::_to_copy');
/** The numbers of operands by their size and seed: every operator takes the same. */
const drawn = new Map<string, Float32Array>();

/** Special numbers are at each of the first places in some tensor of each size, and among the last. */
function numbers(size: number, seed: number): Float32Array {
  const values = Float32Array.from({ length: size }, (_, i) => 3 * Math.sin(i * i + seed));
  for (let i = 0; i < Math.min(size, 300); i++) {
    if ((i * 7 + seed) % 3 > 0) continue;
    const special = SPECIAL[(i + seed) % SPECIAL.length]!;
    values[i] = special;
    values[size - 1 - i] = special;
  }
  return values;
}

function operand(size: number, seed: number, dtype: NativeDtype): tf.Tensor {
  const key = `${size} ${seed}`;
  const values = drawn.get(key) ?? numbers(size, seed);
  drawn.set(key, values);
  const x = tf.tensor1d(values.slice());
  if (dtype === 'float32') return x;
  const backend = tf.backend() as AccBackend;
  return backend.tensorOf(toBfloat16(backend.native(x), 'bfloat16'), 'float32');
}

function valuesOf(x: tf.Tensor): Float32Array {
  return x.dataSync<'float32'>().slice();
}

function withMinElements<T>(elements: number, action: () => T): T {
  const restore = setMinElements(elements);
  try {
    return action();
  } finally {
    restore();
  }
}

const alone = (f: Operator, a: tf.Tensor, b: tf.Tensor) =>
  withMinElements(Infinity, () => valuesOf(tf.tidy(() => f(a, b))));

/** With operators before and after it that change no bit, so that there is a program. */
const surrounded =
  (f: Operator): Operator =>
  (a, b) =>
    f(a.neg().neg(), b.neg().neg()).neg().neg();

function waiting(f: Operator, a: tf.Tensor, b: tf.Tensor, waits: boolean): Float32Array {
  return withMinElements(1, () =>
    tf.tidy(() => {
      const before = pendingCount();
      const y = surrounded(f)(a, b);
      expect(pendingCount() > before).toBe(waits);
      return valuesOf(y);
    }),
  );
}

function compiled(f: Operator, a: tf.Tensor, b: tf.Tensor): Float32Array {
  return tf.tidy(() => {
    const recording = recorder.record([a, b], () => [surrounded(f)(a, b)]).recording as Recording;
    recording.seal('exact');
    const results = recording.replay([a, b]);
    if (results instanceof Error) throw results;
    recording.dispose();
    return valuesOf(results[0]!);
  });
}

/** The place of the first number that differs, or -1. */
function sameBits(a: Float32Array, b: Float32Array): number {
  const bytesOf = ({ buffer, byteOffset, byteLength }: Float32Array) =>
    Buffer.from(buffer, byteOffset, byteLength);
  // NaN has several forms, which are equal here.
  return bytesOf(a).equals(bytesOf(b)) ? -1 : a.findIndex((value, i) => !Object.is(value, b[i]!));
}

describe.each([
  [1, SIZES],
  [3, SIZES_OF_THREADS],
])('with %i threads', (count, sizes) => {
  beforeAll(() => setNumThreads(count));

  describe.each<NativeDtype>(['float32', 'bfloat16'])('%s', (dtype) => {
    it.each(Object.entries(OPERATORS))('%s', (_, f) => {
      for (const size of sizes) {
        tf.tidy(() => {
          const [a, b] = [operand(size, size, dtype), operand(size, size + 1, dtype)];
          const expected = alone(f, a, b);
          expect(expected.length).toBe(size);
          expect(sameBits(expected, waiting(f, a, b, dtype === 'float32'))).toBe(-1);
          expect(sameBits(expected, compiled(f, a, b))).toBe(-1);
        });
      }
    });
  });
});

it.each(Object.entries(OPERATORS))('the same bits at every place of a vector: %s', (_, f) => {
  tf.tidy(() => {
    const [a, b] = [operand(300, 1, 'float32'), operand(300, 2, 'float32')];
    const expected = alone(f, a, b);
    for (let first = 0; first < 80; first++) {
      const of = (x: tf.Tensor) => tf.slice(x, [first], [200 - first]).clone();
      expect(sameBits(alone(f, of(a), of(b)), expected.subarray(first, 200))).toBe(-1);
    }
  });
});
