import { beforeAll, describe, expect, inject, it } from 'vitest';
import type { CompileOptions } from '@acc/core';
import { expectClose, runRanks } from '@acc/testkit';
import { onRanks } from '../on-ranks.js';
import { SAME_KERNELS } from '../same-kernels.js';
import { SEQUENCE } from './plans.js';
import type { Found, Way } from './ranks/compiled.js';
import type { Case, Trained } from './ranks/models.js';

const env = SAME_KERNELS;
const urlOf = (name: string) => new URL(`./ranks/${name}.ts`, import.meta.url);
const AUTO = { model: 'gpt2', plan: 'auto' } as const;
const ALONG = { model: 'gpt2', plan: SEQUENCE } as const;
const CLIPPED = { options: { gradientClipping: { norm: 0.5 } } } as const;

const MODELS = {
  mlp: { model: 'mlp', plan: { in: 'column', mid: 'row', out: 'vocab' } },
  gpt2: { ...AUTO, ...CLIPPED },
  llama: { model: 'llama', plan: 'auto' },
  'along the sequence': { ...ALONG, ...CLIPPED },
  dropout: { ...ALONG, dropout: 0.2, options: { checkpointEvery: 1 } },
  bf16: { ...AUTO, options: { mixedPrecision: 'bf16' } },
  fp16: { ...ALONG, options: { mixedPrecision: 'fp16' } },
} satisfies Record<string, Case>;
type Model = keyof typeof MODELS;
const NAMES = Object.keys(MODELS) as Model[];

describe.each(inject('isRelease') ? [1, 2, 3] : [1, 2])('models on %i ranks', (ranks) => {
  const ways: CompileOptions[] = ranks === 2 ? [{}, { fuse: 'exact' }] : [{}];
  let found: Trained[][];
  beforeAll(async () => {
    const mesh = ranks > 1 ? { mesh: { tensor: ranks } } : {};
    const cases = NAMES.flatMap((name): Case[] => {
      const plain: Case = { ...MODELS[name], ...mesh };
      return [plain, ...ways.map((compile) => ({ ...plain, compile }))];
    });
    const given = { module: urlOf('models'), ranks, args: cases, env };
    found = await onRanks<Trained[]>(given);
  });

  it.each(NAMES)('%s: replays give the same bits', (name) => {
    const place = (1 + ways.length) * NAMES.indexOf(name);
    for (const ofRank of found) {
      const plain = ofRank[place]!;
      for (const each of ofRank.slice(place + 1, place + 1 + ways.length)) {
        const { replays, reason, losses, weights, sent, left, peakBytes } = each;
        expect([replays, reason]).toEqual([7, undefined]);
        expect(losses).toEqual(plain.losses);
        expect(weights).toEqual(plain.weights);
        expect(sent).toEqual(plain.sent);
        expect(left).toBe(1);
        // The memory of replays is planned in one piece, which may have gaps.
        expect(peakBytes).toBeLessThan(1.02 * plain.peakBytes);
      }
      expect(plain.losses.at(-1)).toBeLessThan(plain.losses[0]!);
    }
  });
});

describe('a window of gradient accumulation', () => {
  it('has the bits of plain micro-batches', async () => {
    const options = { gradientAccumulationSteps: 2, gradientClipping: { norm: 0.5 } };
    const plain: Case = { ...AUTO, mesh: { tensor: 2 }, steps: 16, options };
    const args: Case[] = [plain, { ...plain, compile: {} }];
    const found = await onRanks<Trained[]>({ module: urlOf('models'), ranks: 2, args, env });
    for (const [expected, compiled] of found as [Trained, Trained][]) {
      expect(compiled.reason).toBeUndefined();
      expect(compiled).toMatchObject({ replays: 10, left: 1 });
      expect(compiled.losses).toEqual(expected.losses);
      expect(compiled.weights).toEqual(expected.weights);
    }
  });
});

describe('a plain program with cut variables', () => {
  const WAYS = {
    plain: {},
    compiled: { compile: {} },
    exact: { compile: { fuse: 'exact' } },
    fused: { compile: { fuse: true } },
    'only rank 0 compiles': { compile: {}, ranks: [0] },
    'only rank 1 compiles': { compile: {}, ranks: [1] },
    'rank 1 begins later': { compile: {}, from: [0, 7] },
  } satisfies Record<string, Way>;
  const names = Object.keys(WAYS) as (keyof typeof WAYS)[];
  let found: Record<keyof typeof WAYS, Found[]>;
  beforeAll(async () => {
    const args = Object.values<Way>(WAYS);
    const ofRanks = await onRanks<Found[]>({ module: urlOf('compiled'), ranks: 2, args, env });
    found = Object.fromEntries(names.map((name, i) => [name, ofRanks.map((each) => each[i]!)])) as never;
  });

  const numbersOf = ({ losses, weights, squares, hidden, read }: Found) => ({
    ...{ losses, weights, squares, hidden, read },
  });

  it.each(names.filter((name) => name !== 'plain' && name !== 'fused'))(
    'has the same bits where %s',
    (name) => {
      found[name].forEach((each, rank) => {
        expect(numbersOf(each)).toEqual(numbersOf(found.plain[rank]!));
        expect(each.reason).toBeUndefined();
        expect(each.left).toBe(1);
      });
    },
  );

  it('is replayed with batches of both sizes, and with a cut argument', () => {
    // One plain call, two recordings, and one for each of two other combinations of sizes.
    expect(found.compiled.map(({ replays }) => replays)).toEqual([15, 15]);
    expect(found['only rank 0 compiles'].map(({ replays }) => replays)).toEqual([15, 0]);
    expect(found['rank 1 begins later'].map(({ replays }) => replays)).toEqual([15, 9]);
  });

  it('trains as without fusion', () => {
    found.fused.forEach(({ losses, weights, replays }, rank) => {
      expect(replays).toBe(15);
      expectClose(losses, found.plain[rank]!.losses, { rtol: 1e-5 });
      expectClose(weights, found.plain[rank]!.weights, { rtol: 1e-5, atol: 1e-6 });
    });
  });

  it('explains how long exchanges took', () => {
    for (const { explained } of found.compiled)
      expect(explained).toMatch(/\d ms +\d+\.\d % exchanges of tensor parallel kernels/);
  });
});

it.each(['error', 'signal'])('a rank that ends in a replay by an %s ends the others', async (how) => {
  const [waiting, ending] = await runRanks({ script: urlOf('dying'), ranks: 2, args: [how], env });
  expect(waiting!.exitCode).toBe(1);
  expect(waiting!.stderr).toContain('ACC_PEER_LOST');
  expect(waiting!.stdout).toContain('replays: 3');
  expect(waiting!.stdout).not.toContain('replays: 4');
  if (how === 'error') expect(ending!.stderr).toContain('the plugin of rank 1');
  else expect(ending!.signal).toBe('SIGKILL');
});
