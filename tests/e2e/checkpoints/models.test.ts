import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { onRanks } from '../on-ranks.js';
import type { Result } from './ranks/models.js';

const LAYOUTS = ['replicated', 'sharded', 'flat', 'stages'];
const NAMES = ['a', 'b', 'c', 'columns', 'everywhere', 'few', 'rows'];

describe.each([1, 2, 3])('on %i ranks', (ranks) => {
  let folder: string;
  let result: Result;
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'acc-models-'));
    const module = new URL('./ranks/models.ts', import.meta.url);
    const env = { OMP_NUM_THREADS: '1' };
    [result] = (await onRanks<Result>({ module, ranks, args: folder, env })) as [Result];
  });
  afterAll(() => rm(folder, { recursive: true }));

  it.each(LAYOUTS)(
    'a model that is %s is written as a whole, and each rank reads its parts',
    async (layout) => {
      const { isSame, loaded, dicts } = result.layouts[layout]!;
      expect(isSame).toBe(true);
      expect([...loaded].sort()).toEqual(NAMES);
      expect(dicts).toHaveLength(ranks);
      for (const dict of dicts) {
        for (const name of NAMES) {
          expect(dict[name]!.length).toBeGreaterThan(0);
          expect(dict[name]).toEqual(dict[name]!.map((_, i) => name.length * 1000 + i));
        }
      }
      const text = await readFile(join(folder, layout, 'model.safetensors.index.json'), 'utf8');
      const { weight_map: map } = JSON.parse(text) as { weight_map: Record<string, string> };
      expect(Object.keys(map).sort()).toEqual(NAMES);
    },
  );

  it('memory is bounded by the largest tensor, not by the model', () => {
    const { total, largest, saving, loading } = result.memory;
    // A tensor from another rank exists together with the parts that it is made of.
    const bound = 4 * largest;
    expect(total).toBeGreaterThanOrEqual(10 * bound);
    expect(saving).toBeLessThanOrEqual(bound);
    expect(loading).toBeLessThanOrEqual(bound);
  });
});
