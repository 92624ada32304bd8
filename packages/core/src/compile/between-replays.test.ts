import * as tf from '@tensorflow/tfjs';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import type { CompiledStep } from '@acc/compile';
import { Accelerator } from '../accelerator.js';

// What a program changes between the calls of a compiled step.

let accelerator: Accelerator;
beforeEach(async () => {
  accelerator = await Accelerator.create({ engine: 'acc' });
});
afterEach(() => {
  accelerator.freeMemory();
  tf.disposeVariables();
  vi.restoreAllMocks();
});

type Step = () => tf.Scalar;

interface Case {
  readonly steps: number;
  readonly step: Step;
  readonly variables: readonly tf.Variable[];
  readonly before: (i: number) => void;
}

/** The weights after each step. */
function weightsOf(makeCase: () => Case, isCompiled: boolean) {
  const { steps, step, variables, before } = makeCase();
  const called: Step = isCompiled ? accelerator.compile(step) : step;
  const weights = Array.from({ length: steps }, (_, i) => {
    before(i);
    called().dispose();
    return variables.map((variable) => Array.from(variable.dataSync()));
  });
  return { weights, compiled: called as CompiledStep<[], tf.Scalar> };
}

const twoWeights = () => [tf.variable(tf.tensor1d([1, 2])), tf.variable(tf.tensor1d([3, -1]))] as const;

/** A prepared SGD on two variables. */
function frozenCase(steps: number, before: (i: number, first: tf.Variable) => void): () => Case {
  return () => {
    const [first, second] = twoWeights();
    const [, optimizer] = accelerator.prepare([first, second], tf.train.sgd(0.1));
    const step = () => optimizer.minimize(() => first.mul(second).square().mean().asScalar(), true)!;
    return { steps, step, variables: [first, second], before: (i) => before(i, first) };
  };
}

it('freezes and thaws variables as a plain step does', () => {
  const makeCase = frozenCase(24, (i, first) => {
    if (i === 8 || i === 16) first.trainable = i === 16;
  });
  const plain = weightsOf(makeCase, false);
  const { weights, compiled } = weightsOf(makeCase, true);
  expect(weights).toEqual(plain.weights);
  const firstOf = (i: number) => weights[i]![0];
  expect(firstOf(15)).toEqual(firstOf(7));
  expect(firstOf(16)).not.toEqual(firstOf(15));
  expect(compiled.reason).toBeUndefined();
  // Each change costs a plain call and two recorded ones.
  expect(compiled.replays).toBe(24 - 3 * 3);
});

it('records again as often as variables change after many replays', () => {
  const makeCase = frozenCase(200, (i, first) => {
    first.trainable = Math.floor(i / 20) % 2 === 0;
  });
  const { compiled } = weightsOf(makeCase, true);
  expect(compiled.reason).toBeUndefined();
  expect(compiled.replays).toBe(200 - 10 * 3);
});

it('gives up recordings of variables that change all the time, and says so', () => {
  vi.spyOn(console, 'warn').mockReturnValue(undefined);
  const makeCase = frozenCase(40, (i, first) => {
    first.trainable = Math.floor(i / 4) % 2 === 0;
  });
  const plain = weightsOf(makeCase, false);
  const { weights, compiled } = weightsOf(makeCase, true);
  expect(weights).toEqual(plain.weights);
  expect(compiled.reason).toMatch(/frozen and thawed/);
});

it.each([
  ['Adam', () => tf.train.adam(0.1)],
  ['momentum', () => tf.train.momentum(0.1, 0.9)],
])('an unprepared optimizer (%s) takes its learning rate in each replay', (_, create) => {
  const makeCase = (): Case => {
    const [unused, weight] = twoWeights();
    const optimizer = create();
    const step = () => {
      const { value, grads } = tf.variableGrads(() => weight.square().sum().asScalar(), [weight]);
      // A variable without a gradient keeps its place in the optimizer's state.
      const list = [
        { name: unused.name, tensor: null as unknown as tf.Tensor },
        { name: weight.name, tensor: grads[weight.name]! },
      ];
      optimizer.applyGradients(list);
      return value;
    };
    const before = (i: number) => {
      if (i === 5) Object.assign(optimizer, { learningRate: 0.01, c: tf.keep(tf.scalar(-0.01)) });
    };
    return { steps: 9, step, variables: [unused, weight], before };
  };
  const plain = weightsOf(makeCase, false);
  const { weights, compiled } = weightsOf(makeCase, true);
  expect(weights).toEqual(plain.weights);
  expect(new Set(weights.map(([, weight]) => weight!.join())).size).toBe(9);
  expect(compiled.replays).toBe(6);
});

it.each([
  [2, (compiled: CompiledStep<[], tf.Scalar>) => expect(compiled.reason).toBeUndefined()],
  [1, ({ reason }: CompiledStep<[], tf.Scalar>) => expect(reason).toMatch(/'.+', which shares its data/)],
])('a variable may take the data of another every %i steps', (every, check) => {
  vi.spyOn(console, 'warn').mockReturnValue(undefined);
  const makeCase = (): Case => {
    const online = tf.variable(tf.tensor1d([1, 2]));
    const target = tf.variable(tf.tensor1d([0, 0.5]), false);
    const [, optimizer] = accelerator.prepare([online], tf.train.sgd(0.1));
    const loss = () => online.sub(target).sub(1).square().mean().asScalar();
    const before = (i: number) => {
      if (i % every === 0) target.assign(online);
    };
    return {
      steps: 40,
      step: () => optimizer.minimize(loss, true, [online])!,
      variables: [online, target],
      before,
    };
  };
  const plain = weightsOf(makeCase, false);
  const { weights, compiled } = weightsOf(makeCase, true);
  expect(weights).toEqual(plain.weights);
  check(compiled);
  expect(compiled.replays > 0).toBe(every > 1);
});
