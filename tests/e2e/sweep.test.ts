import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import * as tf from '@tensorflow/tfjs';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { expectClose, runRanks } from '@acc/testkit';
import { batchOf, lossOf, makeModel, makeOptimizer, trainPlainly, weightsOf } from './ranks/small-program.js';

interface Round {
  readonly weights: number[][];
  readonly tensors: number;
  readonly bytes: number;
}

const script = new URL('./ranks/sweep.ts', import.meta.url);
const folder = mkdtempSync(join(tmpdir(), 'acc-sweep-'));
afterAll(() => rmSync(folder, { recursive: true }));

let expected: Record<string, number[][]>;
beforeAll(async () => {
  await tf.setBackend('cpu');
  expected = {
    minimize: minimized(),
    fit: await fitted(),
    // The third batch opens a window that is never closed.
    window: trainPlainly({ batches: 2, window: 2 }),
  };
});

/** The training in plain tfjs. */
function minimized(): number[][] {
  const model = makeModel(true);
  const optimizer = makeOptimizer('adam');
  for (let i = 0; i < 4; i++) {
    tf.tidy(() => {
      const batch = batchOf(i);
      optimizer.minimize(() => lossOf(model, batch));
    });
  }
  return weightsOf(model);
}

async function fitted(): Promise<number[][]> {
  const model = makeModel(true);
  model.compile({ optimizer: makeOptimizer('adam'), loss: 'meanSquaredError' });
  const { xs, ys } = batchOf(0);
  await model.fit(xs, ys, { batchSize: 6, epochs: 2, shuffle: false, verbose: 0 });
  return weightsOf(model);
}

const BACKENDS = ['acc', 'cpu'];

it.each([1, 2, 3])(
  'on %d ranks, models that tf.disposeVariables() frees do not affect later models',
  async (ranks) => {
    const results = await runRanks<Record<string, Record<string, Round[]>>>({
      script,
      ranks,
      args: [folder, ...BACKENDS],
      env: { OMP_NUM_THREADS: '1' },
    });
    for (const { exitCode, stderr, result } of results) {
      expect(exitCode, stderr).toBe(0);
      expect(Object.keys(result!)).toEqual(BACKENDS);
      for (const [backend, runs] of Object.entries(result!)) expectLeftNothing(backend, runs);
    }
  },
);

function expectLeftNothing(backend: string, runs: Record<string, Round[]>): void {
  expect(Object.keys(runs)).toEqual(Object.keys(expected));
  for (const [name, rounds] of Object.entries(runs)) {
    for (const { weights } of rounds) {
      weights.forEach((values, i) => expectClose(values, expected[name]![i]!, { rtol: 1e-4, atol: 1e-5 }));
    }
    const after = rounds.slice(1).map(({ tensors, bytes }) => [tensors, bytes]);
    expect(after, `${backend}, ${name}`).toEqual(after.map(() => after[0]));
  }
}
