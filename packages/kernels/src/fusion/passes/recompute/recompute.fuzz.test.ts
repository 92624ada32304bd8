import * as tf from '@tensorflow/tfjs';
import { assert, constantFrom, array, nat, property, record, tuple } from 'fast-check';
import { beforeAll, expect, inject, it } from 'vitest';
import type { Fusion, Recording } from '@acc/contract';
import { operator, operatorInPlace, setSeed } from '@acc/native';
import type { AccBackend } from '../../../backend.js';
import { dropout } from '../../../functions/dropout.js';
import { StepRecorder } from '../../../recording/recorder.js';
import { registerAccBackend } from '../../../register-backend.js';

// Random steps that are like training steps: what the first part computes is taken again by a second
// part, in the opposite order, after calls that do not fuse, writes in place, draws and actions.

let acc: AccBackend;
let recorder: StepRecorder;
beforeAll(async () => {
  registerAccBackend();
  await tf.setBackend('acc');
  acc = tf.backend() as AccBackend;
  recorder = new StepRecorder(acc);
});

const SHAPES = [[3, 4, 50], [3, 4, 50], [4, 50], [50], [3, 4, 1], []];
const RUNS = inject('isRelease') ? 150 : 50;

const castTo = operator('aten::_to_copy');
const multiply = operatorInPlace('aten::mul_.Tensor');

type Operator = (a: tf.Tensor, b: tf.Tensor, c: tf.Tensor) => tf.Tensor;

function rounded(a: tf.Tensor): tf.Tensor {
  using short = castTo(acc.native(a), 'bfloat16');
  return acc.tensorOf(castTo(short, 'float32'), 'float32');
}

/** Operators whose fused forms are exact. */
const FUSED: Readonly<Record<string, Operator>> = {
  add: (a, b) => a.add(b),
  sub: (a, b) => a.sub(b),
  mul: (a, b) => a.mul(b),
  half: (a) => a.mul(0.5),
  square: (a) => a.square(),
  div: (a, b) => a.div(b.square().add(1)),
  inverseRoot: (a) => a.square().add(1).rsqrt(),
  where: (a, b, c) => tf.where(a.greater(b), b, c),
  mask: (a, b) => a.lessEqual(b).toFloat(),
  flat: (a) => a.reshape([-1]).mul(2).reshape(a.shape),
  view: (a) => a.reshape([-1, 1]).reshape(a.shape).abs(),
  broadcast: (a, b) => a.add(tf.zeros(SHAPES[0]!)).mul(b),
  rounded: (a) => rounded(a),
};
/** Operators that do not fuse. */
const ALONE: typeof FUSED = {
  cumulated: (a) => (a.rank === 0 ? a.mul(3) : a.cumsum(-1)),
  turned: (a) => a.transpose().add(1).transpose(),
  floor: (a) => a.floor(),
};
/** Operators that have an effect. */
const EFFECTS: typeof FUSED = {
  drawn: (a) => dropout(a, 0.3),
  action: (a) => recorder.runAction([a], ([given]) => [given!.mul(0.25)])[0]!,
  written: (a, b) => {
    const own = a.add(1);
    const before = own.mul(b);
    multiply(acc.native(own), acc.native(b.flatten().slice(0, 1).reshape([])));
    return own.add(before);
  },
};
/** Operators whose fused forms round in another way. */
const CLOSE: typeof FUSED = {
  tanh: (a) => a.tanh(),
  exp: (a) => a.minimum(1).exp(),
  softmax: (a) => (a.rank === 0 ? a : tf.softmax(a)),
  centred: (a) => (a.rank === 0 ? a.mul(2) : a.sub(a.mean(-1, true))),
};

interface Choice {
  readonly op: string;
  readonly operands: readonly [number, number, number];
}

/** Each part returns its last tensor, and the second one every third. */
function stepOf(choices: readonly Choice[], operators: typeof FUSED) {
  return (args: readonly tf.Tensor[]): tf.Tensor[] =>
    tf.tidy(() => {
      const created = [...args];
      for (const { op, operands } of choices) {
        const [a, b, c] = operands.map((place) => created.at(-1 - (place % created.length))!);
        created.push(operators[op]!(a!, b!, c!));
      }
      let gradient = args[0]!.add(created.at(-1)!);
      const results = [gradient];
      choices.toReversed().forEach(({ operands: [first, second] }, i) => {
        const value = created[created.length - 1 - i]!;
        gradient = gradient.mul(value).add(value.square()).mul(0.5);
        if (first % 3 === 0) gradient = gradient.cumsum(-1);
        if (first % 5 === 0) gradient = gradient.reshape([12, 50]).mul(2).reshape(SHAPES[0]!);
        if (second % 7 === 0) results.push(gradient);
      });
      return [...results, gradient];
    });
}

const choicesOf = (operators: typeof FUSED) =>
  array(record({ op: constantFrom(...Object.keys(operators)), operands: tuple(nat(40), nat(40), nat(40)) }), {
    minLength: 3,
    maxLength: 25,
  });

const argumentsOf = (seed: number): tf.Tensor[] =>
  SHAPES.map((shape, i) => tf.randomNormal(shape, 0, 1, 'float32', seed + i));

interface Replayed {
  readonly values: readonly Float32Array[];
  readonly explanation: string;
}

/** A replay with other arguments than the step was recorded with. */
function replayed(step: (args: readonly tf.Tensor[]) => tf.Tensor[], fusion: Fusion): Replayed {
  const args = argumentsOf(1);
  const others = argumentsOf(100);
  const { results, recording } = recorder.record(args, () => step(args));
  if (typeof recording === 'string') throw new Error(recording);
  const sealed = recording as Recording;
  sealed.seal(fusion);
  setSeed(1);
  const given = others.map((x) => x.dataSync());
  const replay = sealed.replay(others);
  if (replay instanceof Error) throw replay;
  const values = replay.map((x) => x.dataSync<'float32'>());
  const explanation = sealed.explanation;
  expect(others.map((x) => x.dataSync())).toEqual(given);
  sealed.dispose();
  tf.dispose([args, [...results], others, [...replay]]);
  return { values, explanation };
}

const isRecomputed = ({ explanation }: Replayed): boolean => explanation.includes('recomputed in later');

it.each<[Fusion, typeof FUSED]>([
  [true, { ...FUSED, ...ALONE, ...EFFECTS }],
  ['plain', { ...FUSED, ...ALONE, ...EFFECTS, ...CLOSE }],
  ['exact', { ...FUSED, ...ALONE, ...EFFECTS, ...CLOSE }],
])('fuse %s: values that are computed again have the same bits', (fusion, operators) => {
  let count = 0;
  const compare = (choices: readonly Choice[]): void => {
    const step = stepOf(choices, operators);
    const fused = replayed(step, fusion);
    expect(fused.values).toEqual(replayed(step, false).values);
    if (isRecomputed(fused)) count++;
  };
  assert(property(choicesOf(operators), compare), { numRuns: RUNS });
  expect(count).toBeGreaterThan(RUNS / 4);
});
