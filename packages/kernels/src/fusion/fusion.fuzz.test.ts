import * as tf from '@tensorflow/tfjs';
import { assert, constantFrom, array, nat, property, record, tuple } from 'fast-check';
import { beforeAll, expect, inject, it } from 'vitest';
import type { Fusion, Recording } from '@acc/contract';
import type { AccBackend } from '../backend.js';
import { setMinElements } from '../pending/all-pending.js';
import { StepRecorder } from '../recording/recorder.js';
import { registerAccBackend } from '../register-backend.js';

// Random graphs of elementwise operators, broadcasts, reductions and views, replayed with and
// without fusion.

let recorder: StepRecorder;
beforeAll(async () => {
  registerAccBackend();
  await tf.setBackend('acc');
  recorder = new StepRecorder(tf.backend() as AccBackend);
});

/** The shapes of the arguments, which can all be broadcast to the first one. */
const SHAPES = [[3, 4, 50], [3, 4, 50], [4, 50], [50], [3, 4, 1], [1], []];

const RUNS = inject('isRelease') ? 150 : 50;
/** The difference after 25 operators, each of which can make that of its operand a few times larger. */
const BOUND = 1e-4;

interface Choice {
  readonly op: string;
  readonly operands: readonly [number, number, number];
}

const EXACT: Readonly<Record<string, (a: tf.Tensor, b: tf.Tensor, c: tf.Tensor) => tf.Tensor>> = {
  add: (a, b) => a.add(b),
  sub: (a, b) => a.sub(b),
  mul: (a, b) => a.mul(b),
  square: (a) => a.square(),
  cube: (a) => a.pow(3),
  neg: (a) => a.neg(),
  abs: (a) => a.abs(),
  inverseRoot: (a) => a.square().add(1).rsqrt(),
  div: (a, b) => a.div(b.square().add(1)),
  half: (a) => a.mul(0.5),
  where: (a, b, c) => tf.where(a.greater(b), b, c),
  mask: (a, b) => a.lessEqual(b).logicalAnd(b.greater(0)).toFloat(),
  maximum: (a, b) => tf.maximum(a, b),
  minimum: (a, b) => tf.minimum(a, b),
  relu: (a) => a.relu(),
  flat: (a) => a.reshape([-1]).mul(2).reshape(a.shape),
  reversed: (a) => tf.transpose(a).add(1).transpose(),
  turned: (a) => {
    const dims = Array.from({ length: a.rank }, (_, dim) => (dim + 1) % a.rank);
    return dims.reduce((x) => tf.transpose(x, dims), a).add(1);
  },
};
/** Over rows and columns, and what takes one number for each row. */
const ROWS: typeof EXACT = {
  mean: (a) => (a.rank === 0 ? a.mul(3) : a.mean(-1, true)),
  rowSum: (a) => (a.rank === 0 ? a.mul(5) : a.div(8).sum(-1).expandDims(-1)),
  planeMean: (a) => (a.rank < 2 ? a.mul(5) : a.mean([-2, -1], true)),
  columnMean: (a) => (a.rank === 0 ? a.mul(5) : a.mean(0, true)),
  columnSum: (a) => (a.rank < 2 ? a.mul(2) : a.div(12).sum([...Array(a.rank - 1).keys()])),
  largest: (a) => (a.rank === 0 ? a.mul(2) : a.max(-1, true)),
  softmax: (a) => (a.rank === 0 ? a.mul(7) : tf.softmax(a)),
  logSoftmax: (a) => (a.rank === 0 ? a.mul(7) : tf.logSoftmax(a)),
  centred: (a) => (a.rank === 0 ? a : a.sub(a.mean(-1, true))),
  normalized: (a) => {
    if (a.rank === 0) return a.neg();
    const { mean, variance } = tf.moments(a, -1, true);
    return a.sub(mean).div(variance.add(0.1).sqrt());
  },
};
const CLOSE: typeof EXACT = {
  ...EXACT,
  ...ROWS,
  root: (a) => a.abs().add(0.5).sqrt(),
  tanh: (a) => a.tanh(),
  sigmoid: (a) => a.sigmoid(),
  exp: (a) => a.minimum(1).exp(),
  log: (a) => a.abs().add(0.5).log(),
};
/** Of these a small difference of an operand makes a small difference of the result. */
const SMOOTH: typeof EXACT = Object.fromEntries(
  Object.entries(CLOSE).filter(([op]) => !['where', 'mask', 'square', 'cube', 'mul'].includes(op)),
);

/** A random step: each choice takes earlier tensors. Every third tensor and the last are results. */
function stepOf(choices: readonly Choice[], operators: typeof EXACT) {
  return (args: readonly tf.Tensor[]): tf.Tensor[] =>
    tf.tidy(() => {
      const created = [...args];
      for (const { op, operands } of choices) {
        const [a, b, c] = operands.map((place) => created[place % created.length]!) as [
          tf.Tensor,
          tf.Tensor,
          tf.Tensor,
        ];
        created.push(operators[op]!(a, b, c));
      }
      const own = created.slice(args.length);
      return own.filter((_, i) => i % 3 === 0 || i === own.length - 1);
    });
}

const choicesOf = (operators: typeof EXACT) =>
  array(record({ op: constantFrom(...Object.keys(operators)), operands: tuple(nat(40), nat(40), nat(40)) }), {
    minLength: 2,
    maxLength: 25,
  });

const DENORMAL = 1e-40;
const SPECIAL = [NaN, Infinity, -Infinity, 0, -0, 3e38];

/** The numbers that are among the arguments besides random ones. */
interface Numbers {
  readonly special?: boolean;
  readonly denormals?: boolean;
}

/** Random arguments. Large ones begin with special numbers, in another order in each. */
const argumentsOf = (seed: number, { special = true, denormals = false }: Numbers): tf.Tensor[] =>
  SHAPES.map((shape, i) => {
    const random = tf.randomNormal(shape, 0, 1, 'float32', seed + i);
    if (random.size < 50 || !special) return random;
    const values = random.dataSync<'float32'>().slice();
    values.set([...SPECIAL.slice(i), ...SPECIAL.slice(0, i)]);
    // A minimum flushes denormals to zero in one of the two forms.
    if (denormals) values[SPECIAL.length] = DENORMAL;
    random.dispose();
    return tf.tensor(values, shape);
  });

/** The values of a replay of a step with other arguments than it was recorded with. */
function replayedValues(
  step: (args: readonly tf.Tensor[]) => tf.Tensor[],
  fusion: Fusion,
  numbers: Numbers,
): Float32Array[] {
  const args = argumentsOf(1, numbers);
  const { results, recording } = recorder.record(args, () => step(args));
  const sealed = recording as Recording;
  sealed.seal(fusion);
  const others = argumentsOf(100, numbers);
  const before = others.map((x) => x.dataSync());
  const replayed = sealed.replay(others);
  if (replayed instanceof Error) throw replayed;
  const values = replayed.map((x) => x.dataSync<'float32'>());
  // Programs write their results into memory of inputs, but never into arguments.
  expect(others.map((x) => x.dataSync())).toEqual(before);
  sealed.dispose();
  tf.dispose([args, [...results], others, [...replayed]]);
  return values;
}

function check(operators: typeof EXACT, compare: (choices: readonly Choice[]) => void): void {
  assert(property(choicesOf(operators), compare), { numRuns: RUNS });
}

it.each(['plain', 'exact'] as const)("computes the same bits with '%s'", (fusion) => {
  check(CLOSE, (choices) => {
    const step = stepOf(choices, CLOSE);
    const numbers = { denormals: true };
    expect(replayedValues(step, fusion, numbers)).toEqual(replayedValues(step, false, numbers));
  });
});

/** The values of a step that is not recorded, whose results of `elements` or more wait until they are read. */
function plainValues(step: (args: readonly tf.Tensor[]) => tf.Tensor[], elements: number): Float32Array[] {
  const restore = setMinElements(elements);
  const args = argumentsOf(100, { denormals: true });
  const results = step(args);
  const values = results.map((x) => x.dataSync<'float32'>());
  tf.dispose([args, results]);
  restore();
  return values;
}

it('computes the same bits without recording, whether results wait or not, and in replays', () => {
  check(CLOSE, (choices) => {
    const step = stepOf(choices, CLOSE);
    const plain = plainValues(step, Infinity);
    expect(plainValues(step, 1)).toEqual(plain);
    for (const fusion of ['plain', 'exact'] as const) {
      expect(replayedValues(step, fusion, { denormals: true })).toEqual(plain);
    }
  });
});

it('computes the same bits of gradients without recording, whether results wait or not', () => {
  // tfjs's gradient of a maximum and a minimum does not broadcast.
  const operators = Object.fromEntries(Object.entries(SMOOTH).filter(([op]) => !op.endsWith('imum')));
  check(operators, (choices) => {
    const step = stepOf(choices, operators);
    const gradients = tf.grads((...args: tf.Tensor[]) => {
      // Each argument has a gradient.
      return tf.addN([...args, ...step(args)].map((y) => y.sum()));
    });
    const ofAll = (args: readonly tf.Tensor[]) => gradients([...args]);
    expect(plainValues(ofAll, 1)).toEqual(plainValues(ofAll, Infinity));
  });
});

/** Of these libtorch rounds on a GPU in another way, or gives the other sign to zero. */
const OTHER_ON_GPU = ['inverseRoot', 'cube', 'maximum', 'minimum', 'relu'];

it('computes the same bits with true, where no function is approximated in another way', () => {
  const isOnHost = (tf.backend() as AccBackend).device === 'cpu';
  const operators = Object.fromEntries(
    Object.entries(EXACT).filter(([op]) => isOnHost || !OTHER_ON_GPU.includes(op)),
  );
  check(operators, (choices) => {
    const step = stepOf(choices, operators);
    expect(replayedValues(step, true, {})).toEqual(replayedValues(step, false, {}));
  });
});

it('computes close numbers with true', () => {
  check(SMOOTH, (choices) => {
    const step = stepOf(choices, SMOOTH);
    const numbers = { special: false };
    const plain = replayedValues(step, false, numbers);
    const largest = Math.max(
      1,
      ...plain.flatMap((values) => values.map(Math.abs).reduce((a, b) => Math.max(a, b), 0)),
    );
    for (const [k, values] of replayedValues(step, true, numbers).entries()) {
      const difference = values.reduce((sum, value, i) => Math.max(sum, Math.abs(value - plain[k]![i]!)), 0);
      expect(difference).toBeLessThan(BOUND * largest);
    }
  });
});
