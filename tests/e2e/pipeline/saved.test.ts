import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { expectClose } from '@acc/testkit';
import { onRanks } from '../on-ranks.js';
import type { Args, Model, Results } from './ranks/saved.js';

const module = new URL('./ranks/saved.ts', import.meta.url);
const folder = mkdtempSync(join(tmpdir(), 'acc-pipeline-'));
/** The number of ranks, and of those with rows of their own. */
const MESHES = [
  [1, 1],
  [2, 1],
  [4, 2],
] as const;
const CLOSE = { rtol: 1e-4, atol: 1e-6 };
const saved = new Map<number, Results[]>();
const loaded = new Map<number, Results[]>();

const run = (ranks: number, phase: Args['phase'], data: number) =>
  onRanks<Results>({
    ...{ module, ranks, args: { phase, folder, data } satisfies Args, env: { OMP_NUM_THREADS: '1' } },
  });

beforeAll(async () => {
  for (const [ranks, data] of MESHES) saved.set(ranks, await run(ranks, 'save', data));
  for (const [ranks, data] of MESHES) loaded.set(ranks, await run(ranks, 'load', data));
}, 400_000);

afterAll(() => rmSync(folder, { recursive: true }));

function expectSame(found: Record<string, unknown[]>, expected: Record<string, unknown[]>): void {
  expect(Object.keys(found)).toEqual(Object.keys(expected));
  for (const [name, values] of Object.entries(expected)) {
    expectClose(found[name] as number[], values as number[], CLOSE);
  }
}

const modelsOf = (data: number): Model[] => (data === 1 ? ['skipping', 'normed'] : ['skipping']);

describe.each(MESHES)('on %i ranks, %i of them with rows of their own', (ranks, data) => {
  it.each(modelsOf(data))('fit trains, logs and predicts as on one process: %s', (name) => {
    const alone = saved.get(1)![0]![name]!;
    for (const found of saved.get(ranks)!) {
      expectSame(found[name]!.history, alone.history);
      expectSame(found[name]!.last, alone.last);
      expectClose(found[name]!.predicted, alone.predicted, CLOSE);
      expect(found[name]!.last).not.toEqual(found[name]!.saved);
    }
  });

  it.each(modelsOf(data))('a save of any mesh goes on: %s', (name) => {
    for (const found of loaded.get(ranks)!) {
      const runs = Object.keys(found).filter((each) => each.endsWith(name));
      expect(runs).toHaveLength(name === 'normed' ? 2 : 3);
      for (const each of runs) {
        const origin = saved.get(Number(each.split('-')[0]))![0]![name]!;
        expect(found[each]!.saved).toEqual(origin.saved);
        expectSame(found[each]!.history, origin.history);
        expectSame(found[each]!.last, origin.last);
      }
    }
  });
});
