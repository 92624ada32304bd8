import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import type { AcceleratorOptions } from '@acc/core';
import { expectClose, runRanks } from '@acc/testkit';
import { onlyInRelease } from '../../only-in-release.js';
import { onRanks } from '../on-ranks.js';
import { SAME_KERNELS } from '../same-kernels.js';
import type { Case, Trained } from './ranks/compiled.js';

// With other kernels for other sizes, smaller batches would have a recording of their own.
const env = SAME_KERNELS;
const urlOf = (name: string) => new URL(`./ranks/${name}.ts`, import.meta.url);

const strategy = 'fsdp' as const;
const STAGE_1 = { strategy, fsdp: { stage: 1 } } satisfies AcceleratorOptions;
const STAGE_2 = { strategy, fsdp: { stage: 2 } } satisfies AcceleratorOptions;
const STAGE_3 = { strategy, fsdp: { bucketBytes: 1 } } satisfies AcceleratorOptions;
const CLIPPED = { gradientClipping: { norm: 0.3 } };
const ROUNDED = { param: 'bf16', reduce: 'bf16' } as const;
const PLAIN = { compile: undefined };
const COMPILED = { compile: {} };
const EXACT = { compile: { fuse: 'exact' } } as const;

/** The trainings by the number of ranks. Every case runs plainly and compiled. */
const CASES: Record<number, Record<string, Case>> = {
  1: { 'stage 3': { model: 'mlp', options: STAGE_3 } },
  2: {
    'stage 1, clipped': { model: 'gpt2', options: { ...STAGE_1, ...CLIPPED }, varies: true },
    'stage 2': { model: 'mlp', options: STAGE_2, reads: [4, 6], varies: true, steps: 10 },
    'stage 3, clipped': { model: 'gpt2', options: { ...STAGE_3, ...CLIPPED }, varies: true },
    'stage 3, read and set between steps': { model: 'mlp', options: STAGE_3, reads: [1, 4, 6], steps: 10 },
    'stage 1, read and set between steps': { model: 'conv', options: STAGE_1, reads: [1, 4, 6], steps: 10 },
    'stage 3, kept from forward to backward': {
      model: 'gpt2',
      options: {
        strategy,
        fsdp: { bucketBytes: 1, reshardAfterForward: false, backwardPrefetch: 'post' },
      },
    },
    'stage 3, checkpointed': { model: 'gpt2', options: { ...STAGE_3, checkpointEvery: 1 } },
    'stage 3, a frozen layer': { model: 'conv', first: 'frozen', options: STAGE_3 },
    'stage 3, in bf16': { model: 'gpt2', options: { ...STAGE_3, mixedPrecision: 'bf16' } },
    'stage 3, gathered in bf16': {
      model: 'gpt2',
      options: { strategy, fsdp: { bucketBytes: 1, mixedPrecision: ROUNDED } },
      reads: [1, 5],
    },
    'stage 1, a replay that fails': { model: 'mlp', options: STAGE_1, failsIn: 5, steps: 10 },
    'stage 3, by backward and applyGradients': { model: 'mlp', way: 'backward', options: STAGE_3 },
    ...onlyInRelease<Case>({
      'stage 3, gathered when used': {
        model: 'mlp',
        options: {
          strategy,
          fsdp: { wrap: { minParams: 30 }, backwardPrefetch: 'none', limitAllGathers: false },
        },
      },
      'stage 1, checkpointed': { model: 'gpt2', options: { ...STAGE_1, checkpointEvery: 1 } },
      'stage 1, in bf16': { model: 'conv', options: { ...STAGE_1, mixedPrecision: 'bf16' } },
      'stage 3, in fp16': { model: 'mlp', options: { ...STAGE_3, mixedPrecision: 'fp16' } },
      'stage 3, a replay that fails': { model: 'gpt2', options: STAGE_3, failsIn: 5, steps: 10 },
    }),
  },
  3: {
    'stage 3': { model: 'gpt2', options: STAGE_3, varies: true },
    ...onlyInRelease<Case>({ 'stage 2': { model: 'gpt2', options: STAGE_2 } }),
    'stage 3, with statistics': { model: 'conv', options: STAGE_3 },
  },
  4: {
    hybrid: {
      model: 'gpt2',
      options: { strategy, fsdp: { stage: 'HYBRID_SHARD', bucketBytes: 1 }, mesh: { data: 2, fsdp: 2 } },
    },
  },
};

const train = (ranks: number, cases: readonly Case[]) =>
  onRanks<Trained[]>({ module: urlOf('compiled'), ranks, args: cases, env });

const numbersOf = ({ losses, weights, read }: Trained) => ({ losses, weights, read });

describe.each([1, 2, 3, 4])('on %i ranks', (ranks) => {
  const names = Object.keys(CASES[ranks]!);
  const ways = [PLAIN, COMPILED];
  let found: Trained[][];
  beforeAll(async () => {
    const cases = Object.values(CASES[ranks]!).flatMap((each) => ways.map((way) => ({ ...each, ...way })));
    found = await train(ranks, cases);
  });

  it.each(names)('replays give the same bits: %s', (name) => {
    const place = ways.length * names.indexOf(name);
    const { steps = 8, varies, failsIn, reads = [] } = CASES[ranks]![name]!;
    for (const ofRank of found) {
      const plain = ofRank[place]!;
      for (const each of ofRank.slice(place + 1, place + ways.length)) {
        expect(numbersOf(each)).toEqual(numbersOf(plain));
        // One plain call and two recordings, and one more for the smaller batches.
        const others = 3 + Number(varies === true) + Number(failsIn !== undefined);
        expect([each.replays, each.reason]).toEqual([steps - others, undefined]);
        expect(each.sent).toEqual(plain.sent);
        // Constants are kept, and batches that are read leave a unit in memory.
        expect(each.peakBytes).toBeLessThanOrEqual(plain.peakBytes);
        // A pass that fails leaves gradients to garbage collection.
        if (failsIn !== undefined) continue;
        expect(each.keptBytes - plain.keptBytes).toBeLessThanOrEqual(128);
        if (reads.length === 0) expect(each.left).toBe(1);
      }
      expect(new Set(plain.losses).size).toBe(plain.losses.length);
    }
  });
});

describe('on two ranks', () => {
  const MIXED = { model: 'gpt2', varies: true, reads: [5, 8], steps: 12 } as const;
  const STAGES = { 'stage 1': STAGE_1, 'stage 3': STAGE_3 };
  const LATER: Record<string, Partial<Case>> = {
    plain: {},
    'only rank 0 compiles': { compile: {}, ranks: [0] },
    'only rank 1 compiles': { compile: {}, ranks: [1] },
    'rank 1 begins later': { compile: {}, from: [0, 5] },
    exact: EXACT,
    fused: { compile: { fuse: true } },
  };
  const folders = mkdtempSync(join(tmpdir(), 'acc-fsdp-'));
  const NOT_REPLAYED = ['reads a gradient', 'reads a weight'] as const;
  const [mixed, saved, refused]: [Case[], Case[], Case[]] = [[], [], []];
  for (const [name, options] of Object.entries(STAGES)) {
    mixed.push(...Object.values(LATER).map((way): Case => ({ ...MIXED, ...way, options })));
    const kept: Case = { model: 'mlp', options, steps: 6 };
    for (const way of ['plain', 'compiled'])
      saved.push({ ...kept, ...(way === 'compiled' && COMPILED), folder: join(folders, `${name} ${way}`) });
    refused.push(...NOT_REPLAYED.map((way): Case => ({ ...kept, ...COMPILED, way })));
  }
  let found: Trained[][];
  beforeAll(async () => {
    found = await train(2, [...mixed, ...saved, ...refused]);
  });

  const perStage = Object.keys(LATER).length;
  const of = (stage: number, way: string, rank: number) =>
    found[rank]![stage * perStage + Object.keys(LATER).indexOf(way)]!;

  it.each(Object.keys(STAGES))('a rank that replays meets one that does not: %s', (name) => {
    const stage = Object.keys(STAGES).indexOf(name);
    const replays: Record<string, readonly number[]> = {
      'only rank 0 compiles': [8, 0],
      'only rank 1 compiles': [0, 8],
      'rank 1 begins later': [8, 4],
      exact: [8, 8],
    };
    for (const [way, expected] of Object.entries(replays)) {
      expected.forEach((count, rank) => {
        const each = of(stage, way, rank);
        expect([each.replays, each.reason], way).toEqual([count, undefined]);
        expect(numbersOf(each), way).toEqual(numbersOf(of(stage, 'plain', rank)));
      });
    }
  });

  it.each(Object.keys(STAGES))('fused steps train as plain ones: %s', (name) => {
    const stage = Object.keys(STAGES).indexOf(name);
    for (const rank of [0, 1]) {
      const [fused, plain] = [of(stage, 'fused', rank), of(stage, 'plain', rank)];
      expect(fused.replays).toBe(8);
      expectClose(fused.losses, plain.losses, { rtol: 1e-6, atol: 1e-6 });
      expectClose(fused.weights.flat(), plain.weights.flat(), { rtol: 1e-6, atol: 1e-6 });
      expect(fused.peakBytes).toBeLessThanOrEqual(plain.peakBytes);
    }
  });

  it('explains how long hooks take', () => {
    const label = [/ waiting for gathered parameters/, / gathering of sharded parameters/];
    for (const stage of [0, 1]) expect(of(stage, 'fused', 0).explained).toMatch(label[stage]!);
  });

  it('a state is saved between replays, and loaded between replays', () => {
    for (const ofRank of found) {
      const [plain1, compiled1, plain3, compiled3] = ofRank.slice(mixed.length);
      for (const [plain, compiled] of [
        [plain1!, compiled1!],
        [plain3!, compiled3!],
      ] as const) {
        expect(numbersOf(compiled)).toEqual(numbersOf(plain));
        expect([compiled.replays, compiled.reason]).toEqual([11, undefined]);
        expect(compiled.losses.slice(10)).toEqual(compiled.losses.slice(6, 10));
      }
    }
  });

  it('says why a step is not replayed', () => {
    for (const ofRank of found) {
      const given = ofRank.slice(mixed.length + saved.length);
      for (const { replays, reason } of given.slice(0, refused.length))
        expect([replays, reason]).toEqual([
          0,
          expect.stringMatching(/weights that other ranks have .* sharded gradient/),
        ]);
    }
  });

  it.each(['error', 'signal'])('a rank that ends within a replay ends the other: by %s', async (way) => {
    const ended = await runRanks({
      script: urlOf('compiled-dying'),
      ranks: 2,
      args: [way],
      env,
    });
    const [other, dying] = ended;
    expect(dying!.exitCode).not.toBe(0);
    expect(dying!.stdout).toMatch(/replays: 3/);
    expect(other!.exitCode).not.toBe(0);
    expect(other!.stderr).toMatch(/rank 1/);
  });
});
