import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { expectClose, runRanks } from '@acc/testkit';
import type { Kind, Loaded, Saved, Way } from './ranks/saved.js';

const script = new URL('./ranks/saved.ts', import.meta.url);
const WAYS: readonly Way[] = ['ddp', 'stage1', 'stage3'];
const CLOSE = { rtol: 1e-5, atol: 1e-6 };
const KINDS: readonly Kind[] = ['adam', 'adafactor'];
let saved: Record<Kind, Saved>[];
const loaded = new Map<number, Record<Kind, Loaded>[]>();

async function run<T>(ranks: number, phase: string, folder: string): Promise<T[]> {
  const ended = await runRanks<T>({
    script,
    ranks,
    args: [phase, folder],
    env: { OMP_NUM_THREADS: '1' },
    timeoutMs: 110_000,
  });
  for (const { exitCode, stderr } of ended) expect(exitCode, stderr).toBe(0);
  return ended.map(({ result }) => result!);
}

beforeAll(async () => {
  const folder = mkdtempSync(join(tmpdir(), 'acc-fsdp-'));
  saved = await run<Record<Kind, Saved>>(2, 'save', folder);
  for (const ranks of [1, 2, 3]) loaded.set(ranks, await run<Record<Kind, Loaded>>(ranks, 'load', folder));
}, 480_000);

it('every rank has the whole state dict of a sharded model', () => {
  for (const { stateDicts, trained } of saved.map(({ adam }) => adam)) {
    for (const way of WAYS) {
      expect(Object.keys(stateDicts[way])).toEqual(['weight0', 'weight1', 'weight2', 'weight3']);
      expect(Object.values(stateDicts[way]).flat()).toEqual(trained[way].saved);
    }
  }
});

describe.each([1, 2, 3])('on %i ranks', (ranks) => {
  const pairs = WAYS.flatMap((from) => WAYS.map((way) => [from, way] as const));
  const table = KINDS.flatMap((kind) => pairs.map(([from, way]) => ({ kind, from, way })));

  it.each(table)('$kind goes on under $way from what $from has saved', ({ kind, from, way }) => {
    for (const { trained, models } of loaded.get(ranks)!.map((result) => result[kind])) {
      const uninterrupted = saved[0]![kind].trained[from];
      const found = trained[from][way];
      expect(found.saved).toEqual(uninterrupted.saved);
      expectClose(found.last, uninterrupted.last, CLOSE);
      expect(models[from][way]).toEqual(uninterrupted.saved);
      expect(found.last).not.toEqual(found.saved);
    }
  });
});
