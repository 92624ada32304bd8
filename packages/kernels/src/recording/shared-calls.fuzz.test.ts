import * as tf from '@tensorflow/tfjs';
import { array, assert, constantFrom, nat, property, record, uniqueArray } from 'fast-check';
import { beforeAll, expect, it } from 'vitest';
import type { Fusion, Recording } from '@acc/contract';
import type { AccBackend } from '../backend.js';
import { registerAccBackend } from '../register-backend.js';
import { StepRecorder } from './recorder.js';

// Random steps on arguments of several sizes, replayed by recordings that share their calls where
// they can.

let recorder: StepRecorder;
beforeAll(async () => {
  registerAccBackend();
  await tf.setBackend('acc');
  recorder = new StepRecorder(tf.backend() as AccBackend);
});

const RUNS = 60;
/** Some are also sizes of other dims, and some are broadcast. */
const SIZES = [0, 1, 2, 4, 5, 8, 50];

type Operator = (a: tf.Tensor, b: tf.Tensor) => tf.Tensor;
/** Operators on tensors [rows, 4, tokens], with rows and tokens among the sizes. */
const OPERATORS: Readonly<Record<string, Operator>> = {
  add: (a, b) => a.add(b),
  mul: (a, b) => a.mul(b),
  cube: (a) => a.pow(3),
  half: (a) => a.mul(0.5),
  byCount: (a) => a.mul(1 / (1 + a.size)),
  addCount: (a) => a.add(tf.scalar(a.shape[0]!)),
  addPlaces: (a) => a.add(tf.tensor1d(Array.from({ length: a.shape[2]! }, (_, i) => i))),
  flat: (a) => a.reshape([-1]).mul(2).reshape(a.shape),
  center: (a) => a.sub(a.sum(-1, true).mul(1 / (1 + a.shape[2]!))),
  overRows: (a, b) => a.add(b.sum(0, true)),
  softmax: (a) => tf.softmax(a),
  product: (a, b) => tf.matMul(tf.matMul(a, b, false, true), b).mul(0.01),
  swapped: (a) => a.transpose([2, 1, 0]).add(1).transpose([2, 1, 0]),
  choice: (a) => (a.shape[0]! > 4 ? a.mul(a) : a.add(a)),
  joined: (a, b) => tf.concat([a, b], 0).slice([a.shape[0]! >> 1, 0, 0], [a.shape[0]!, -1, -1]),
};

interface Choice {
  readonly op: string;
  readonly a: number;
  readonly b: number;
}

const stepOf =
  (choices: readonly Choice[]) =>
  (args: readonly tf.Tensor[]): tf.Tensor[] =>
    tf.tidy(() => {
      const created = [...args];
      for (const { op, a, b } of choices) {
        created.push(OPERATORS[op]!(created[a % created.length]!, created[b % created.length]!));
      }
      return created.slice(args.length).filter((_, i, all) => i % 3 === 0 || i === all.length - 1);
    });

type Sizes = readonly [rows: number, tokens: number];
const argumentsOf = ([rows, tokens]: Sizes, seed: number): tf.Tensor[] =>
  [1, 2].map((i) => tf.randomNormal([rows, 4, tokens], 0, 1, 'float32', seed + i));

const numbersOf = (tensors: readonly tf.Tensor[]) =>
  tensors.map((x) => [x.shape, ...x.dataSync<'float32'>()] as const);

function recorded(step: (args: readonly tf.Tensor[]) => tf.Tensor[], sizes: Sizes): Recording {
  const args = argumentsOf(sizes, 1);
  const { results, recording } = recorder.record(args, () => step(args));
  tf.dispose([args, [...results]]);
  if (typeof recording === 'string') throw new Error(recording);
  return recording;
}

/** The recordings of a step for several sizes, and how many share the calls of an earlier one. */
function recordAll(step: (args: readonly tf.Tensor[]) => tf.Tensor[], all: readonly Sizes[], fuse: Fusion) {
  const own: Recording[] = [];
  const recordings = all.map((sizes) => {
    const recording = recorded(step, sizes);
    if (own.every((first) => recording.shareCallsOf(first, fuse) === undefined)) {
      recording.seal(fuse);
      own.push(recording);
    }
    return recording;
  });
  return { recordings, shared: all.length - own.length };
}

const CHOICES = array(record({ op: constantFrom(...Object.keys(OPERATORS)), a: nat(40), b: nat(40) }), {
  minLength: 2,
  maxLength: 12,
});
const ALL_SIZES = uniqueArray(
  record({ rows: constantFrom(...SIZES), tokens: constantFrom(...SIZES) }).map(
    ({ rows, tokens }) => [rows, tokens] as const,
  ),
  { minLength: 2, maxLength: 5, selector: String },
);

it.each([false, 'plain', 'exact'] as const)(
  'replays of each size equal plain runs bit for bit, with fuse: %s',
  (fuse) => {
    let shared = 0;
    assert(
      property(CHOICES, ALL_SIZES, (choices, all) => {
        const step = stepOf(choices);
        const { recordings, ...counts } = recordAll(step, all, fuse);
        shared += counts.shared;
        // The first one leaves before the others are replayed, and sizes take turns.
        const order = [...all.keys()];
        for (const [turn, i] of [...order, ...order.slice(1).toReversed()].entries()) {
          const args = argumentsOf(all[i]!, 10 + turn);
          const plain = step(args);
          const replayed = recordings[i]!.replay(args);
          if (replayed instanceof Error) throw replayed;
          expect(numbersOf(replayed)).toEqual(numbersOf(plain));
          tf.dispose([args, plain, [...replayed]]);
          if (turn === 0) recordings[0]!.dispose();
        }
        for (const recording of recordings.slice(1)) recording.dispose();
      }),
      { numRuns: RUNS },
    );
    expect(shared).toBeGreaterThan(RUNS);
  },
);
