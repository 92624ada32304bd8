import * as tf from '@tensorflow/tfjs';
import { beforeAll, describe, expect, it } from 'vitest';
import { Accelerator } from '@acc/core';
import { registerAccBackend } from '@acc/kernels';
import { setNumThreads } from '@acc/native';
import { expectClose } from '@acc/testkit';
import { LAYER_CASES } from './cases/index.js';
import { membersUsed, type LayerCase } from './layer-case.js';
import { withSeededRandom } from './seeded.js';
import { trainLayer, type Observed, type Trained } from './train-layer.js';

/**
 * Members of `tf.layers` that are the same function as another one, or only create the same layer.
 */
const ALIASES: Readonly<Record<string, keyof typeof tf.layers>> = {
  avgPool1d: 'averagePooling1d',
  avgPooling1d: 'averagePooling1d',
  avgPool2d: 'averagePooling2d',
  avgPooling2d: 'averagePooling2d',
  avgPool3d: 'averagePooling3d',
  avgPooling3d: 'averagePooling3d',
  globalMaxPool1d: 'globalMaxPooling1d',
  globalMaxPool2d: 'globalMaxPooling2d',
  maxPool1d: 'maxPooling1d',
  maxPool2d: 'maxPooling2d',
};

/** Members of `tf.layers` that no case calls, with the reasons. */
const NOT_IN_CASES: Readonly<Record<string, string>> = {
  Layer: 'the base class: attention.ts has a user layer',
  RNN: 'the base class of simpleRNN, gru and lstm',
  RNNCell: 'the base class of the cells',
  convLstm2dCell: 'convLstm2d makes its cell itself, and rnn takes none of images',
  input: 'begins the model of every case',
  inputLayer: 'what input makes',
};

/**
 * Sums are added in another order, and predictions after a few steps accumulate the differences.
 */
const TOLERANCE = { rtol: 2e-4, atol: 2e-5 };

/**
 * tfjs itself leaves some tensors behind: a regularizer's factors, the masks of a cell's dropout, a
 * layer's states.
 */
const LEFT = 'tensors left';

beforeAll(() => {
  registerAccBackend();
  // The tensors are tiny, so on a busy machine threads would only wait for one another.
  setNumThreads(1);
});

async function train(
  layerCase: LayerCase,
  backend: string,
  prepare: (model: tf.LayersModel) => void = () => {},
): Promise<Trained> {
  if (!(await tf.setBackend(backend))) throw new Error(`The backend '${backend}' could not be started.`);
  const before = tf.memory();
  const trained = await withSeededRandom(() => trainLayer(layerCase, prepare));
  const { numTensors, numDataBuffers } = tf.memory();
  const left = [numTensors - before.numTensors, numDataBuffers - before.numDataBuffers];
  return { ...trained, [LEFT]: [{ shape: [], values: left }] };
}

function expectSame(actual: Trained, expected: Trained): void {
  const shapes = (trained: Trained) =>
    Object.entries(trained).map(([what, tensors]) => [what, tensors.map(({ shape }) => shape)]);
  expect(shapes(actual)).toEqual(shapes(expected));
  const values = (tensors: readonly Observed[] | undefined) => tensors!.map((x) => x.values);
  for (const what of Object.keys(expected)) {
    const [ours, theirs] = [values(actual[what]), values(expected[what])];
    try {
      // A fused layer may leave fewer tensors.
      if (what === LEFT) ours[0]!.forEach((count, i) => expect(count).toBeLessThanOrEqual(theirs[0]![i]!));
      else expectClose(ours, theirs, TOLERANCE);
    } catch (error) {
      throw new Error(what, { cause: error });
    }
  }
}

describe('layers on acc predict and train as on cpu', () => {
  it.each(Object.entries(LAYER_CASES))('%s', async (_, layerCase) => {
    const expected = await train(layerCase, 'cpu');
    const gradients = expected['gradients of step 1']!;
    // Otherwise nothing would be compared.
    expect(gradients.some(({ values }) => values.some((value) => value !== 0))).toBe(true);

    expectSame(await train(layerCase, 'acc'), expected);
    using accelerator = await Accelerator.create({ engine: 'acc' });
    expectSame(await train(layerCase, 'acc', (model) => accelerator.prepare(model)), expected);
  });
});

describe('the list of cases', () => {
  it('covers all layers of tf.layers', () => {
    const used = membersUsed(Object.values(LAYER_CASES));
    const known = new Set([...used, ...Object.keys(ALIASES), ...Object.keys(NOT_IN_CASES)]);
    expect([...known].sort()).toEqual(Object.keys(tf.layers).sort());
    expect(Object.keys(NOT_IN_CASES).filter((name) => used.has(name))).toEqual([]);
  });

  it.each(Object.entries(ALIASES))('covers %s with %s', (alias, name) => {
    const make = (member: string) => tf.layers[member as 'maxPool1d']({ poolSize: 2 });
    expect(make(alias).getClassName()).toBe(make(name).getClassName());
  });
});
