import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import * as tf from '@tensorflow/tfjs';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { expectClose, runRanks } from '@acc/testkit';
import { batchOf, makeModel, makeOptimizer, trainPlainly, weightsOf } from './ranks/small-program.js';

interface Case {
  readonly weights: number[][];
  readonly places: string[];
  readonly leaked: number;
}

interface Compiled extends Case {
  readonly reasons: (string | undefined)[];
  readonly replays: number[];
}

interface Fitted extends Case {
  readonly losses: number[];
}

type Cases = Readonly<Record<string, Case>>;

const script = new URL('./ranks/set-backend.ts', import.meta.url);
const folder = mkdtempSync(join(tmpdir(), 'acc-set-backend-'));
afterAll(() => rmSync(folder, { recursive: true }));
beforeAll(() => tf.setBackend('cpu'));

async function train(when: 'after' | 'before', ranks: number) {
  const env = { OMP_NUM_THREADS: '1' };
  const results = await runRanks<Cases>({ script, ranks, args: [when, folder], env });
  for (const { exitCode, stderr } of results) expect(exitCode, stderr).toBe(0);
  return {
    cases: results.map(({ result }) => result!),
    /** The number of warnings about the backend on each rank. */
    warnings: results.map(({ stderr }) => stderr.match(/the tfjs backend/g)?.length ?? 0),
    stderr: results[0]!.stderr,
  };
}

function expectWeights(found: Case, expected: number[][], tolerance = 1e-4): void {
  found.weights.forEach((values, i) =>
    expectClose(values, expected[i]!, { rtol: tolerance, atol: tolerance }),
  );
  expect(found.leaked).toBe(0);
}

const onCpu = (place: string) => place === 'cpu cpu';

describe.each([1, 2, 3])('tf.setBackend after create, on %d ranks', (ranks) => {
  let cases: Cases[];
  let launched: Awaited<ReturnType<typeof train>>;
  beforeAll(async () => {
    launched = await train('after', ranks);
    ({ cases } = launched);
  });

  it.each([
    ['clipped', { batches: 6, norm: 0.3 }, 1e-4],
    ['window', { batches: 6, window: 2 }, 1e-4],
    ['fp16', { batches: 6 }, 2e-2],
    ['saved', { batches: 4 }, 1e-4],
    ['compiled', { batches: 12 }, 1e-4],
    ['localSgd', { optimizer: 'sgd', batches: 4 }, 1e-4],
  ] as const)('%s: the weights of plain tfjs', (name, options, tolerance) => {
    const expected = trainPlainly(options);
    for (const each of cases) expectWeights(each[name]!, expected, tolerance);
    for (const each of cases) expect(each[name]!.weights).toEqual(cases[0]![name]!.weights);
  });

  it('warns once, with the new backend', () => {
    expect(cases[0]!['clipped']!.places.map(onCpu)).toEqual([false, true, true, false, true, false]);
    expect(launched.warnings).toEqual(cases.map((_, rank) => (rank === 0 ? 1 : 0)));
    expect(launched.stderr).toContain("the tfjs backend was changed from 'acc' to 'cpu'");
  });

  it('runs a compiled step without replay, and records it again', () => {
    const { reasons, replays } = cases[0]!['compiled'] as Compiled;
    expect(reasons.map((reason) => reason?.includes("'cpu'") ?? false)).toEqual(
      Array.from({ length: 12 }, (_, i) => i === 5 || i === 6),
    );
    expect(replays).toEqual([0, 0, 0, 1, 2, 2, 2, 2, 2, 2, 3, 4]);
  });

  it('fits with synchronised batch normalisation', async () => {
    const model = makeModel(true);
    model.compile({ optimizer: makeOptimizer('adam'), loss: 'meanSquaredError' });
    const { xs, ys } = batchOf(0);
    const { history } = await model.fit(xs, ys, { batchSize: 6, epochs: 6, shuffle: false, verbose: 0 });
    for (const each of cases) {
      expectWeights(each['fit']!, weightsOf(model));
      expectClose((each['fit'] as Fitted).losses, history['loss'] as number[], { rtol: 1e-4, atol: 1e-5 });
    }
  });

  it('setSeed covers both backends', () => {
    for (const each of cases) {
      const draws = each['random'] as unknown as Record<string, number[][]>;
      expect(draws['cpu']).toEqual(draws['acc']);
      // tfjs draws in JavaScript on every backend.
      expect(draws['normal on cpu']![0]).toEqual(draws['acc']![1]);
    }
  });
});

it.each([1, 2, 3])(
  'on %d ranks a backend that is set before create is kept, with the same numbers',
  async (ranks) => {
    const { cases, warnings, stderr } = await train('before', ranks);
    for (const each of cases) {
      expectWeights(each['tensorsFirst']!, trainPlainly({ batches: 2 }));
      expectWeights(each['cpuFirst']!, trainPlainly({ batches: 6, norm: 0.3 }));
      expectWeights(each['again']!, trainPlainly({ batches: 2 }));
      expect(each['tensorsFirst']!.places.some(onCpu)).toBe(false);
      expect(each['cpuFirst']!.places[0]).toBe('cpu');
      expect(each['cpuFirst']!.places.slice(1).map(onCpu)).toEqual([true, true, false, false, true, true]);
      expect(each['again']!.places.map(onCpu)).toEqual([true, true]);
      expect(each['asked']!.places).toEqual(['acc']);
    }
    expect(warnings).toEqual([1, 0, 0].slice(0, ranks));
    expect(stderr).toContain("training uses the tfjs backend 'cpu'");
  },
);
