import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { expectClose } from '@acc/testkit';
import { onRanks } from '../on-ranks.js';
import type { Args, Report } from './ranks/layers-models.js';

const folder = mkdtempSync(join(tmpdir(), 'acc-layers-'));
afterAll(() => rmSync(folder, { recursive: true }));

const CLOSE = { rtol: 1e-4, atol: 1e-6 };
/** How often ranks exchange values to predict one batch, by model. */
const CALLS = {
  dense: 1,
  // The output of each of 3 steps. A GRU also gathers what its reset gate leaves of the state.
  lstm: 2 * 3,
  gru: 2 * 3,
  simpleRNN: 3,
  'lstm with dropout': 3,
  'lstm with dropout of inputs': 3,
  'gru with dropout': 2 * 3,
  // The tokens' rows are added up first.
  'bidirectional lstm of masked tokens': 1 + 2 * 3,
  'conv1d and norms': 1,
  'conv2d of tokens': 1 + 1,
  'sum of bidirectional gru': 2 * 2 * 3 + 2 * 3,
  // Layers of other classes are whole: these numbers are those of the dense layers.
  'timeDistributed dense': 1,
  'stacked cells': 1,
  'conv of states': 1,
} satisfies Record<string, number>;
const NAMES = Object.keys(CALLS) as (keyof typeof CALLS)[];
/** The others cut the same sizes. */
const ON_THREE: typeof NAMES = inject('isRelease')
  ? ['dense', 'lstm', 'gru with dropout', 'conv1d and norms', 'sum of bidirectional gru']
  : ['dense', 'lstm'];
const SIZES: readonly (readonly [ranks: number, names: typeof NAMES])[] = [
  [1, NAMES],
  [2, NAMES],
  [3, ON_THREE],
];

const reports = new Map<number, Report[]>();
beforeAll(async () => {
  const module = new URL('./ranks/layers-models.ts', import.meta.url);
  const env = { OMP_NUM_THREADS: '1' };
  for (const [ranks, names] of SIZES) {
    const args: Args = { folder, names };
    reports.set(ranks, await onRanks<Report>({ module, ranks, args, env }));
  }
}, 340_000);

describe.each(SIZES.slice(1))('on %i ranks', (ranks, names) => {
  it.each(names)('%s: fit, evaluate, predict and saved weights are as in one process', (name) => {
    const expected = reports.get(1)![0]!.fitted[name]!;
    for (const { fitted } of reports.get(ranks)!) {
      const found = fitted[name]!;
      expectClose(found.losses, expected.losses, CLOSE);
      expectClose(found.validation, expected.validation, CLOSE);
      expectClose(found.evaluated, expected.evaluated, CLOSE);
      expectClose(found.predicted, expected.predicted, CLOSE);
      expectClose(found.weights, expected.weights, CLOSE);
      expect(found.read).toEqual(found.weights);
      expect(found.saved).toEqual(found.weights);
      expect(found.calls).toBe(CALLS[name]);
    }
  });

  it.each(names)('%s: loaded and assigned weights count', (name) => {
    const { predicted, begun } = reports.get(1)![0]!.fitted[name]!;
    expect(begun).not.toEqual(predicted);
    for (const { fitted } of reports.get(ranks)!) {
      const found = fitted[name]!;
      expectClose(found.begun, begun, CLOSE);
      expect(found.loaded).toEqual(found.predicted);
      expect(found.again).toEqual(found.predicted);
    }
  });

  it('refuses units that the ranks cannot share', () => {
    for (const { uneven } of reports.get(ranks)!) expect(uneven).toBe('ACC_TENSOR_PARALLEL_UNEVEN');
  });
});
