import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { runRanks } from '@acc/testkit';

interface Trained {
  /** Of the bytes of all weights. */
  readonly weights: string;
  readonly some: number[][];
  readonly losses: number[];
}

const script = new URL('./ranks/deterministic.ts', import.meta.url);

async function train(ranks: number, args: readonly string[]): Promise<Trained> {
  const results = await runRanks<Trained>({ script, ranks, args, timeoutMs: 240_000 });
  for (const { exitCode, stderr } of results) expect(exitCode, stderr).toBe(0);
  const [first, ...others] = results.map(({ result }) => result!);
  for (const other of others) expect(other.weights).toBe(first!.weights);
  return first!;
}

interface Case {
  readonly model: 'mlp' | 'convnet' | 'transformer' | 'recurrent';
  readonly loop: 'custom' | 'fit' | 'fitDataset';
  readonly accumulation?: number;
  readonly backend?: 'acc' | 'cpu';
  readonly precision?: 'no' | 'bf16' | 'fp16';
  readonly steps?: number;
  readonly checkpointEvery?: number;
}

const CASES: readonly Case[] = [
  { model: 'mlp', loop: 'custom' },
  { model: 'mlp', loop: 'custom', accumulation: 3, steps: 20 },
  { model: 'mlp', loop: 'fit' },
  { model: 'mlp', loop: 'fitDataset', accumulation: 2, steps: 10 },
  { model: 'convnet', loop: 'custom' },
  { model: 'convnet', loop: 'fit', accumulation: 2, steps: 20 },
  { model: 'transformer', loop: 'custom', accumulation: 2 },
  { model: 'transformer', loop: 'fit' },
  { model: 'recurrent', loop: 'custom', steps: 20 },
  { model: 'convnet', loop: 'custom', backend: 'cpu', steps: 6 },
  { model: 'recurrent', loop: 'custom', backend: 'cpu', steps: 6 },
  { model: 'convnet', loop: 'custom', precision: 'bf16', steps: 20 },
  { model: 'transformer', loop: 'custom', precision: 'fp16', steps: 20 },
  { model: 'convnet', loop: 'fit', checkpointEvery: 3, steps: 20 },
];

describe('deterministic gives the same weights and losses, bit for bit, on 1, 2 and 4 ranks', () => {
  it.each(CASES)('%o', { timeout: 900_000 }, async (given) => {
    const {
      model,
      loop,
      accumulation = 1,
      backend = 'acc',
      precision = 'no',
      steps = 50,
      checkpointEvery = 0,
    } = given;
    const args = [model, loop, accumulation, backend, precision, steps, checkpointEvery].map(String);
    const alone = await train(1, args);
    expect(alone.losses.every(Number.isFinite)).toBe(true);
    for (const size of [2, 4]) {
      const together = await train(size, args);
      expect(together.losses).toEqual(alone.losses);
      expect(together.some).toEqual(alone.some);
      expect(together.weights).toBe(alone.weights);
    }
  });
});

it(
  'goes on from a checkpoint on other numbers of ranks, to the same weights',
  { timeout: 600_000 },
  async () => {
    const resume = new URL('./ranks/deterministic-resume.ts', import.meta.url);
    const run = async (ranks: number, dir: string, endsAfter: number) => {
      const args = [dir, String(endsAfter)];
      const results = await runRanks<{ step: number; weights: string }>({
        script: resume,
        ranks,
        args,
        timeoutMs: 120_000,
      });
      for (const { exitCode, stderr } of results) expect(exitCode, stderr).toBe(0);
      return results[0]!.result!;
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
  ])('are sums in pairs on %d ranks (engine %s)', { timeout: 240_000 }, async (ranks, engine) => {
    const sums = new URL('./ranks/tree-sums.ts', import.meta.url);
    const env = { ACC_COLLECTIVE_ENGINE: engine };
    const results = await runRanks<{ wrong: string[] }>({ script: sums, ranks, env, timeoutMs: 200_000 });
    for (const { exitCode, stderr, result } of results) {
      expect(exitCode, stderr).toBe(0);
      expect(result!.wrong).toEqual([]);
    }
  });
});

it(
  'a number of ranks that virtual shards do not divide is refused on every rank',
  { timeout: 120_000 },
  async () => {
    const args = ['mlp', 'custom', '1', 'acc', 'no', '2', '0'];
    const results = await runRanks({ script, ranks: 3, args, timeoutMs: 100_000 });
    for (const { exitCode, stderr } of results) {
      expect(exitCode).toBe(1);
      expect(stderr).toContain('ACC_INVALID_OPTION');
    }
  },
);
