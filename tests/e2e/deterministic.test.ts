import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { beforeAll, describe, expect, inject, it } from 'vitest';
import { runRanks } from '@acc/testkit';
import { onRanks } from './on-ranks.js';
import type { DeterministicCase, Trained } from './ranks/deterministic.js';

const programOf = (name: string) => new URL(`./ranks/${name}.ts`, import.meta.url);

/** Before a release there are fifty. */
const steps = inject('isRelease') ? 50 : 4;

const CASES: readonly DeterministicCase[] = [
  { model: 'mlp', loop: 'custom', steps },
  { model: 'mlp', loop: 'custom', accumulation: 3, steps },
  { model: 'mlp', loop: 'custom', accumulation: 2, syncEachBatch: true, steps: 4 },
  { model: 'mlp', loop: 'fit', steps },
  { model: 'mlp', loop: 'fitDataset', accumulation: 2, steps },
  { model: 'convnet', loop: 'custom', steps },
  { model: 'convnet', loop: 'fit', accumulation: 2, steps },
  { model: 'transformer', loop: 'custom', accumulation: 2, steps },
  { model: 'transformer', loop: 'fit', steps },
  { model: 'recurrent', loop: 'custom', steps },
  { model: 'convnet', loop: 'custom', backend: 'cpu', steps: 4 },
  { model: 'recurrent', loop: 'custom', backend: 'cpu', steps: 4 },
  { model: 'convnet', loop: 'custom', precision: 'bf16', steps },
  { model: 'transformer', loop: 'custom', precision: 'fp16', steps },
  { model: 'convnet', loop: 'fit', checkpointEvery: 3, steps },
];

describe('deterministic gives the same weights and losses, bit for bit, on 1, 2 and 4 ranks', () => {
  /** The results of rank 0, by the number of ranks. The other ranks have the same weights. */
  const trained = new Map<number, Trained[]>();

  beforeAll(async () => {
    for (const size of [1, 2, 4]) {
      const options = { module: programOf('deterministic'), ranks: size, args: CASES };
      const all = await onRanks<Trained[]>({ ...options, timeoutMs: 500_000 });
      const weights = all.map((results) => results.map((each) => each.weights));
      for (const others of weights) expect(others).toEqual(weights[0]);
      trained.set(size, all[0]!);
    }
  }, 1_500_000);

  it.each(CASES.map((given, i) => [given, i] as const))('%o', (_, i) => {
    const alone = trained.get(1)![i]!;
    expect(alone.losses.length).toBeGreaterThan(0);
    expect(alone.losses.every(Number.isFinite)).toBe(true);
    for (const size of [2, 4]) expect(trained.get(size)![i]).toEqual(alone);
  });

  it('trains each case to different weights', () => {
    const hashes = trained.get(1)!.map(({ weights }) => weights);
    expect(new Set(hashes).size).toBe(CASES.length);
  });
});

it(
  'continues from a checkpoint on other numbers of ranks, to the same weights',
  { timeout: 600_000 },
  async () => {
    const module = programOf('deterministic-resume');
    const run = async (ranks: number, dir: string, endsAfter: number) => {
      const options = { module, ranks, args: { dir, endsAfter } };
      const [first] = await onRanks<{ step: number; weights: string }>(options);
      return first!;
    };
    const folder = () => mkdtemp(join(tmpdir(), 'acc-deterministic-'));
    const through = await run(1, await folder(), 0);
    expect(through.step).toBe(15);
    const dir = await folder();
    expect((await run(2, dir, 3)).step).toBe(3);
    expect((await run(1, dir, 7)).step).toBe(7);
    expect(await run(4, dir, 0)).toEqual(through);
  },
);

describe('sums over ranks', () => {
  it.each([
    [1, 'auto'],
    [2, 'auto'],
    [4, 'auto'],
    [4, 'gloo'],
  ])('are pairwise sums on %d ranks (engine %s)', async (ranks, engine) => {
    const module = programOf('tree-sums');
    // Without other variables, the ranks of the tests above go on.
    const variables = engine === 'auto' ? {} : { env: { ACC_COLLECTIVE_ENGINE: engine } };
    const results = await onRanks<{ wrong: string[] }>({ module, ranks, ...variables });
    for (const { wrong } of results) expect(wrong).toEqual([]);
  });
});

it('a number of ranks that does not divide the virtual shards is refused on every rank', async () => {
  const script = programOf('deterministic-refused');
  const results = await runRanks({ script, ranks: 3 });
  for (const { exitCode, stderr } of results) {
    expect(exitCode).toBe(1);
    expect(stderr).toContain('ACC_INVALID_OPTION');
  }
});
