import * as tf from '@tensorflow/tfjs';
import { assert, array, constantFrom, nat, property, record, tuple } from 'fast-check';
import { beforeAll, expect, inject, it } from 'vitest';
import type { Fusion, Recording } from '@acc/contract';
import { operator, operatorInPlace, tensorFrom, type Tensor as Native } from '@acc/native';
import type { AccBackend } from '../backend.js';
import { StepRecorder } from '../recording/recorder.js';
import { registerAccBackend } from '../register-backend.js';
import { castTo } from './testing-replays.js';

// Random graphs that write in place: values of the step, views of them, tensors that JavaScript made,
// and what actions have got, with reads of the same memory before and after. Replayed with and
// without fusion.

let backend: AccBackend;
let recorder: StepRecorder;
/** The tensors that actions have kept. */
let kept: Native[] = [];
beforeAll(async () => {
  registerAccBackend();
  await tf.setBackend('acc');
  backend = tf.backend() as AccBackend;
  recorder = new StepRecorder(backend);
});

const RUNS = inject('isRelease') ? 300 : 100;
const SHAPE = [4, 6];

/** A tensor of a step. */
interface Made {
  readonly native: Native;
  /** The tensors that may share its memory have the same root. */
  readonly root: number;
  /** Whether calls may write it: a recording may not write arguments, nor broadcast memory. */
  readonly isWritable: boolean;
}

/** An operator on a tensor and on another one of its shape, or a number. */
type Run = (a: Native, b: Native) => Native;
type Write = (a: Native, b: Native) => void;

const of = (name: string, ...args: number[]): Run => {
  const run = operator(`aten::${name}`);
  return (a) => run(a, ...args);
};
const ofTwo = (name: string): Run => operator(`aten::${name}`);
const write = (name: string, ...args: number[]): Write => {
  const run = operatorInPlace(`aten::${name}`);
  return (a) => run(a, ...args);
};
const writeOfTwo = (name: string): Write => {
  const run = operatorInPlace(`aten::${name}`);
  return (a, b) => run(a, b);
};

const isPositive = operator('aten::gt.Scalar');
const reshape = operator('aten::reshape');
const fillWhere = operatorInPlace('aten::masked_fill_.Scalar');

const NEW: Readonly<Record<string, Run>> = {
  ...{ neg: of('neg'), abs: of('abs'), exp: of('exp'), half: of('mul.Scalar', 0.5), same: of('clone') },
  ...{ add: ofTwo('add.Tensor'), sub: ofTwo('sub.Tensor'), mul: ofTwo('mul.Tensor') },
  short: (a) => castTo(a, 'bfloat16'),
  long: (a) => castTo(a, 'float32'),
  uploaded: () =>
    tensorFrom(
      Float32Array.from({ length: 24 }, (_, i) => i - 9),
      'float32',
      SHAPE,
    ),
};
const VIEWS: Readonly<Record<string, Run>> = {
  ...{ turned: of('t'), part: of('slice.Tensor', 0, 1, 3), row: of('slice.Tensor', 0, 0, 1) },
  flat: (a) => reshape(a, [-1]),
};
const WRITES: Readonly<Record<string, Write>> = {
  ...{ negate: write('neg_'), relu: write('relu_'), clamp: write('clamp_', -0.5, 1), exp: write('exp_') },
  ...{ scale: write('mul_.Scalar', -0.3), square: write('pow_.Scalar', 2), fill: write('fill_.Scalar', 0.7) },
  ...{ add: writeOfTwo('add_.Tensor'), multiply: writeOfTwo('mul_.Tensor'), copy: writeOfTwo('copy_') },
  fillWhere: (a, b) => {
    using mask = isPositive(b, 0);
    fillWhere(a, mask, -1.5);
  },
};
/** Whether programs compute an operator exactly also with `fuse: true`. */
const isExact = (name: string): boolean => !['exp', 'square'].includes(name);

type Kind = 'new' | 'view' | 'write' | 'action';
interface Choice {
  readonly kind: Kind;
  readonly op: number;
  readonly places: readonly [number, number];
}

/** A step that makes random choices. Every third tensor and the last are results. */
class RandomStep {
  readonly #made: Made[];
  readonly #arguments: number;

  constructor(
    args: readonly tf.Tensor[],
    private readonly accepts: (name: string) => boolean,
  ) {
    this.#made = args.map((arg, root) => ({
      native: backend.nativeOfData(arg)!.alias() as Native,
      ...{ root, isWritable: false },
    }));
    this.#arguments = args.length;
  }

  run(choices: readonly Choice[]): tf.Tensor[] {
    for (const choice of choices) this.#choose(choice);
    const own = this.#made.slice(this.#arguments);
    const results = own.filter((_, i) => i % 3 === 0 || i === own.length - 1);
    const tensors = results.map(({ native }) => backend.tensorOf(native.alias(), 'float32'));
    for (const { native } of this.#made) native.dispose();
    return tensors;
  }

  #choose({ kind, op, places: [first, second] }: Choice): void {
    const named = <Item>(operators: Readonly<Record<string, Item>>): Item => {
      const names = Object.keys(operators).filter(this.accepts);
      return operators[names[op % names.length]!]!;
    };
    const created = this.#made;
    if (kind === 'write') {
      const writable = created.filter(({ isWritable }) => isWritable);
      const self = writable[first % writable.length];
      return self && named(WRITES)(self.native, this.#operandFor(self, second));
    }
    const a = created[first % created.length]!;
    if (kind === 'view' && a.native.shape.length === 0) return;
    if (kind === 'view') return void created.push({ ...a, native: named(VIEWS)(a.native, a.native) });
    if (kind === 'action') return void created.push(this.#given(a));
    const native = named(NEW)(a.native, this.#operandFor(a, second));
    created.push({ native, root: created.length, isWritable: true });
  }

  /** A tensor of the shape of `self`. A write may not read what partly shares the memory that it writes. */
  #operandFor(self: Made, place: number): Native {
    const candidates = this.#made.filter(
      (other) =>
        other.native.shape.join() === self.native.shape.join() &&
        (other.root !== self.root || other.native === self.native),
    );
    return (candidates[place % candidates.length] ?? this.#made[0]!).native;
  }

  /** The result of an action, which ends a segment. The action keeps what it gets. */
  #given({ native }: Made): Made {
    const input = backend.tensorOf(native.alias(), 'float32');
    const [given] = recorder.runAction([input], ([x]) => {
      kept.push(backend.nativeOfData(x!)!.alias() as Native);
      return [tf.tidy(() => x!.mul(2))];
    });
    const created = { native: backend.nativeOfData(given!)!.alias() as Native, isWritable: false };
    tf.dispose([input, given!]);
    return { ...created, root: this.#made.length };
  }
}

const choices = array(
  record({
    kind: constantFrom<Kind[]>(
      'new',
      'new',
      'new',
      'view',
      'view',
      'write',
      'write',
      'write',
      'write',
      'action',
    ),
    op: nat(100),
    places: tuple(nat(40), nat(40)),
  }),
  { minLength: 3, maxLength: 25 },
);

const argumentsOf = (seed: number): tf.Tensor[] => [
  tf.scalar(seed / 7),
  ...[0, 1].map((i) => tf.randomNormal(SHAPE, 0, 1, 'float32', seed + i)),
];

/** The values of a replay with other arguments, and what was said of it. */
function replayed(given: readonly Choice[], fusion: Fusion, accepts: (name: string) => boolean) {
  const args = argumentsOf(1);
  const recorded = recorder.record(args, () => new RandomStep(args, accepts).run(given));
  const recording = recorded.recording as Recording;
  expect(recording).not.toBeTypeOf('string');
  recording.seal(fusion);
  const others = argumentsOf(100);
  for (const native of kept) native.dispose();
  kept = [];
  const results = recording.replay(others);
  if (results instanceof Error) throw results;
  const values = [...results.map((x) => backend.nativeOfData(x)!), ...kept].map((native) => {
    using floats = castTo(native, 'float32');
    return [...(floats.read() as Float32Array)];
  });
  const { explanation } = recording;
  recording.dispose();
  tf.dispose([args, [...recorded.results], others, [...results]]);
  return { values, explanation };
}

function check(fusion: Fusion, accepts: (name: string) => boolean): void {
  let programs = 0;
  const compare = (given: readonly Choice[]): void => {
    const { values, explanation } = replayed(given, fusion, accepts);
    expect(values).toEqual(replayed(given, false, accepts).values);
    programs += Number(/(\d+) calls run as/.exec(explanation)![1]);
  };
  assert(property(choices, compare), { numRuns: RUNS });
  expect(programs).toBeGreaterThan(RUNS / 3);
}

it.each(['plain', 'exact'] as const)(
  "computes the same bits with '%s' where calls write in place",
  (fusion) => {
    check(fusion, () => true);
  },
);

it('computes the same bits with true, where no function is approximated in another way', () => {
  check(true, isExact);
});
