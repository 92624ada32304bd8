import * as tf from '@tensorflow/tfjs';
import { beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { liveTensors } from '@acc/native';
import { expectClose } from '@acc/testkit';
import { registerAccBackend } from '@acc/kernels';
import { makeGradients, makeVariables } from './testing/optimizer-steps.js';
import { fusedApply } from './testing/fused-apply.js';

const OPTIMIZERS: readonly [string, () => tf.Optimizer][] = [
  ['sgd', () => tf.train.sgd(0.1)],
  ['momentum', () => tf.train.momentum(0.05, 0.9)],
  ['momentum 0', () => tf.train.momentum(0.05, 0)],
  ['nesterov', () => tf.train.momentum(0.05, 0.8, true)],
  ['adagrad', () => tf.train.adagrad(0.1)],
  ['adagrad from 0', () => tf.train.adagrad(0.1, 0)],
  ['adadelta', () => tf.train.adadelta(1, 0.9, 1e-4)],
  ['rmsprop', () => tf.train.rmsprop(0.01)],
  ['rmsprop with momentum', () => tf.train.rmsprop(0.01, 0.8, 0.5, 1e-5)],
  ['centered rmsprop', () => tf.train.rmsprop(0.01, 0.9, 0.3, 1e-3, true)],
  ['adam', () => tf.train.adam(0.01)],
  ['adam with its options', () => tf.train.adam(0.02, 0.5, 0.9, 1e-3)],
  ['adamax', () => tf.train.adamax(0.01)],
  ['adamax with decay', () => tf.train.adamax(0.02, 0.8, 0.95, 1e-4, 0.1)],
];

const STEPS = 30;

interface Training {
  readonly optimizer: tf.Optimizer;
  readonly apply: tf.Optimizer['applyGradients'];
}

interface Trained {
  readonly weights: number[][];
  readonly state: { name: string; values: number[] }[];
}

/**
 * Trains for {@link STEPS} steps. In between, the learning rate changes, and the state is saved and
 * loaded.
 */
async function train(
  names: string,
  make: () => tf.Optimizer,
  applyOf: (optimizer: tf.Optimizer) => tf.Optimizer['applyGradients'],
): Promise<Trained> {
  const variables = makeVariables(names);
  const begin = (optimizer: tf.Optimizer): Training => ({ optimizer, apply: applyOf(optimizer) });
  let training = begin(make());
  for (let step = 0; step < STEPS; step++) {
    if (step === 10) changeLearningRate(training.optimizer);
    // tfjs cannot save Adamax.
    if (step === 20 && training.optimizer.getClassName() !== 'Adamax') {
      training = begin(await reloaded(training.optimizer, make()));
    }
    tf.tidy(() => training.apply(makeGradients(variables, step)));
  }
  const { optimizer } = training;
  expect(optimizer.iterations).toBe(STEPS);
  const weights = variables.map((variable) => [...variable.dataSync()]);
  const state = stateOf(optimizer).map(([name, variable]) => ({ name, values: [...variable.dataSync()] }));
  optimizer.dispose();
  tf.dispose(variables);
  return { weights, state };
}

function changeLearningRate(optimizer: tf.Optimizer): void {
  if ('setLearningRate' in optimizer) (optimizer as tf.SGDOptimizer).setLearningRate(0.02);
  else (optimizer as unknown as { learningRate: number }).learningRate = 0.02;
}

async function reloaded(from: tf.Optimizer, to: tf.Optimizer): Promise<tf.Optimizer> {
  const saved = await from.getWeights();
  const copies = saved.map(({ name, tensor }) => ({ name, tensor: tensor.clone() }));
  from.dispose();
  saved[0]!.tensor.dispose();
  changeLearningRate(to);
  await to.setWeights(copies);
  tf.dispose(copies.map(({ tensor }) => tensor));
  return to;
}

/** All variables in the fields of an optimizer, each with its field and name. */
function stateOf(optimizer: tf.Optimizer): [string, tf.Variable][] {
  return Object.entries(optimizer).flatMap(([key, value]): [string, tf.Variable][] => {
    if (value instanceof tf.Variable) return [[key, value]];
    if (!Array.isArray(value)) return [];
    return value.map(({ originalName, variable }: { originalName: string; variable: tf.Variable }) => [
      `${key} ${originalName}`,
      variable,
    ]);
  });
}

const isCounter = ({ name }: { name: string }) => !name.includes(' ');

const fused = (optimizer: tf.Optimizer) => fusedApply(optimizer)!;
const own = (optimizer: tf.Optimizer) => optimizer.applyGradients.bind(optimizer);

beforeAll(() => registerAccBackend());
beforeEach(async () => {
  await tf.setBackend('acc');
});

describe.each(OPTIMIZERS)('%s', (_, make) => {
  it("gives tfjs's weights and state", async () => {
    const actual = await train('same', make, fused);
    const mixed = await train('same', make, (optimizer) => {
      const both = [fused(optimizer), own(optimizer)];
      let calls = 0;
      return (grads) => both[(calls++ >> 1) % 2]!(grads);
    });
    await tf.setBackend('cpu');
    const expected = await train('same', make, own);
    for (const { weights, state } of [actual, mixed]) {
      expectClose(weights, expected.weights, { rtol: 1e-6, atol: 1e-7 });
      expect(state.map(({ name }) => name)).toEqual(expected.state.map(({ name }) => name));
      // Scalars that count steps are not updated on lists, so they are equal exactly.
      expect(state.filter(isCounter)).toEqual(expected.state.filter(isCounter));
      expectClose(
        state.map(({ values }) => values),
        expected.state.map(({ values }) => values),
        { rtol: 1e-5, atol: 1e-7 },
      );
    }
  });

  it('leaves no tensor behind', () => {
    const counts = () => [tf.memory().numTensors, tf.memory().numDataBuffers, liveTensors()];
    const atStart = counts();
    const variables = makeVariables('leak');
    const optimizer = make();
    const apply = fused(optimizer);
    const step = (i: number) => tf.tidy(() => apply(makeGradients(variables, i)));
    for (let i = 0; i < 4; i++) step(i);
    const before = counts();
    for (let i = 0; i < 8; i++) step(i);
    expect(counts()).toEqual(before);
    optimizer.dispose();
    // tfjs's own `dispose` does not dispose these constants.
    const { c, m } = optimizer as unknown as { c?: tf.Tensor; m?: tf.Tensor };
    tf.dispose([c, m].filter((x) => x && !x.isDisposed) as tf.Tensor[]);
    tf.dispose(variables);
    expect(counts()).toEqual(atStart);
  });
});
