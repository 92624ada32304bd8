import { beforeAll, describe, expect, it } from 'vitest';
import { onRanks } from '../on-ranks.js';
import { expectNear, rms } from '../transformer/compare.js';
import type { Results } from './ranks/layers.js';

const module = new URL('./ranks/layers.ts', import.meta.url);

const resultsOn = (ranks: number, mesh: Record<string, number>) =>
  onRanks<Results>({ module, ranks, args: mesh, env: { OMP_NUM_THREADS: '1' } });

const TRAINED = [
  'dense',
  'softmax',
  'layerNormalization',
  'batchNormalization',
  'prelu',
  'conv1d',
  'timeDistributed dense',
  'nested',
  'other dims',
  'beside features',
];

const REFUSED = {
  lstm: 'LSTM',
  'in a bidirectional': 'Bidirectional',
  conv1d: 'Conv1D',
  'in a model': 'MaxPooling1D',
};

let alone!: Results;
let together!: Results[];

beforeAll(async () => {
  [alone] = (await resultsOn(1, { data: 1 })) as [Results];
  together = await resultsOn(2, { context: 2 });
});

describe('layers that compute each position by itself', () => {
  it.each(TRAINED)('%s: two ranks with pieces train as one', (name) => {
    const expected = alone.trained[name]!;
    expect(together).toHaveLength(2);
    for (const { trained } of together) {
      expectNear(trained[name]!.losses, expected.losses, 1e-4);
      const size = Math.max(...expected.weights.map(rms));
      expect(trained[name]!.weights).toHaveLength(expected.weights.length);
      expected.weights.forEach((values, i) => expectNear(trained[name]!.weights[i]!, values, 1e-4, size));
    }
    expect(expected.losses.at(-1)).not.toBe(expected.losses[0]);
  });

  it('are all that the program trains', () => {
    expect(Object.keys(alone.trained)).toEqual(TRAINED);
  });
});

describe('layers that mix positions', () => {
  it.each(Object.entries(REFUSED))('%s is refused on the axis context only', (name, className) => {
    for (const { refused } of together) {
      expect(refused[name]).toEqual({ code: 'ACC_CONTEXT_LAYER', layer: 'reader', className });
    }
    expect(alone.refused[name]).toBe('prepared');
  });
});

it('features that prepared data cuts are an error in the layer that gets them', () => {
  for (const { refused } of together) {
    expect(refused['features']).toMatchObject({ code: 'ACC_CONTEXT_FEATURES', layer: 'reader' });
  }
  expect(alone.refused['features']).toBe('prepared');
});
