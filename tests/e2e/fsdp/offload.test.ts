import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { expectClose } from '@acc/testkit';
import { onRanks } from '../on-ranks.js';
import type { Case, Result, Way } from './ranks/offload.js';

/** Three ranks have shards of different sizes. */
const SIZES = inject('isRelease') ? [1, 2, 3] : [1, 3];
const CASES: readonly Case[] = [
  ...(['sgd', 'momentum', 'adam', 'adamw', 'adagrad', 'adadelta', 'rmsprop', 'adamax', 'lion'] as const),
  ...(['clipped', 'scaled', 'read', 'accumulated', 'rounded'] as const),
];
const WAYS: readonly Way[] = ['stage1', 'stage2', 'optimizer', 'params', 'both'];
/** Each kind trains in two ways. These do in all: state of a shape of its own, several passes a step. */
const IN_EVERY_WAY: readonly Case[] = ['adam', 'adafactor', 'accumulated'];
const waysOf = (kind: Case) =>
  WAYS.filter((way) => IN_EVERY_WAY.includes(kind) || way === 'stage2' || way === 'both');
const results = new Map<number, Result[]>();
const folders = new Map<number, string>();

beforeAll(async () => {
  const module = new URL('./ranks/offload.ts', import.meta.url);
  for (const ranks of SIZES) {
    const folder = mkdtempSync(join(tmpdir(), 'acc-offload-'));
    folders.set(ranks, folder);
    const env = { OMP_NUM_THREADS: '1' };
    results.set(ranks, await onRanks<Result>({ module, ranks, args: folder, env }));
  }
}, 480_000);

afterAll(() => {
  for (const folder of folders.values()) rmSync(folder, { recursive: true });
});

describe.each(SIZES)('on %i ranks, offload to a folder', (ranks) => {
  it.each(CASES)('changes no bit of losses and weights, in any stage: %s', (kind) => {
    for (const { cases } of results.get(ranks)!) {
      expect(Object.keys(cases[kind])).toEqual(waysOf(kind));
      for (const way of waysOf(kind)) {
        const { plain, offloaded } = cases[kind][way]!;
        expect(offloaded.losses, way).toEqual(plain.losses);
        expect(offloaded.weights, way).toEqual(plain.weights);
        expect(offloaded.weights.at(-1)).not.toEqual(offloaded.weights[0]);
        expect(offloaded.leaked, way).toBe(0);
      }
    }
  });

  it.each(['lamb', 'adafactor'] as const)(
    'changes no step of %s, which adds up over ranks unit by unit',
    (kind) => {
      for (const { cases } of results.get(ranks)!) {
        expect(Object.keys(cases[kind])).toEqual(waysOf(kind));
        for (const way of waysOf(kind)) {
          const { plain, offloaded } = cases[kind][way]!;
          expectClose(offloaded.weights.flat(), plain.weights.flat(), { rtol: 1e-5, atol: 1e-7 });
          expect(offloaded.weights.at(-1)).not.toEqual(offloaded.weights[0]);
          expect(offloaded.leaked, way).toBe(0);
        }
      }
    },
  );

  it('loads what was saved without it, and the other way round, and goes on as if not interrupted', () => {
    for (const { resumed } of results.get(ranks)!) {
      expect(Object.keys(resumed)).toHaveLength(8);
      for (const [name, { found, expected }] of Object.entries(resumed)) {
        expect(found, name).toEqual(expected);
        expect(found.length, name).toBeGreaterThan(60);
      }
    }
  });

  it('keeps old values that a program holds, and takes over those that it assigns', () => {
    for (const { kept } of results.get(ranks)!) expect(kept.found).toEqual(kept.expected);
  });

  it('leaves a few pieces of state and parameters in memory', () => {
    const ofRanks = results.get(ranks)!.map(({ memory }) => memory);
    // The last rank may have fewer elements than the others.
    const written = ofRanks.reduce((sum, { fileBytes }) => sum + fileBytes, 0);
    expect(written).toBeGreaterThanOrEqual(ranks * ofRanks[0]!.stateBytes);
    for (const { stateBytes, restingBytes, peakBytes, pieceBytes } of ofRanks) {
      expect(restingBytes).toBeLessThan(stateBytes / 10);
      // Two units are gathered whole while a piece is read.
      expect(peakBytes).toBeLessThan(4 * pieceBytes + 2 * ranks * pieceBytes);
      expect(peakBytes).toBeLessThan(0.75 * stateBytes);
    }
  });

  it('leaves no file', () => {
    for (const { left } of results.get(ranks)!) expect(left).toEqual([]);
    expect(readdirSync(join(folders.get(ranks)!, 'made', 'files'))).toEqual([]);
  });
});
