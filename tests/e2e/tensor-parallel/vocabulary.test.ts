import { beforeAll, describe, expect, it } from 'vitest';
import { expectClose } from '@acc/testkit';
import { onRanks } from '../on-ranks.js';
import { SAME_KERNELS } from '../same-kernels.js';
import type { Report } from './ranks/vocabulary.js';

const [TOKENS, WIDTH] = [8 * 64, 6];

/** By loss, how many numbers of each token the ranks exchange, and how many besides. */
const SENT = {
  // The maximum and the sum of the exponentials. The mean is one number.
  'one-hot': [2, 1],
  'in sequences': [2, 1],
  smoothed: [2, 1],
  weighted: [3, 0],
  'smoothed and weighted': [3, 0],
  // Backward adds up the products of the softmax once more.
  'of log probabilities': [3, 0],
  'of tfjs': [2, 0],
  'read besides': [2, 1],
  // The sum of the probabilities, forward and backward, and of the terms of the loss.
  sparse: [5, 1],
} as const satisfies Record<string, readonly [ofToken: number, besides: number]>;
type Name = keyof typeof SENT;
const NAMES = Object.keys(SENT) as Name[];
const trained = (name: Name) => `${name}, with the gradient of its input`;

const run = (ranks: number) =>
  onRanks<Report>({
    module: new URL('./ranks/vocabulary.ts', import.meta.url),
    ranks,
    env: SAME_KERNELS,
  });

let alone: Report;
beforeAll(async () => {
  [alone] = (await run(1)) as [Report];
});

describe.each([2, 3])('cross-entropy over a vocabulary on %i ranks', (ranks) => {
  let found: Report[];
  beforeAll(async () => {
    found = await run(ranks);
  });

  it.each(NAMES.flatMap((name) => (name === 'sparse' ? [name] : [name, trained(name)])))(
    '%s: losses and weights are those of one process',
    (name) => {
      const expected = alone.measured[name]!;
      expect(new Set(expected.losses).size).toBe(4);
      for (const { measured } of found) {
        const { losses, weights, left } = measured[name]!;
        expectClose(losses, expected.losses, { rtol: 1e-4 });
        expectClose(weights, expected.weights, { rtol: 1e-4, atol: 1e-5 });
        expect(left).toBe(1);
      }
    },
  );

  it.each(NAMES)('%s: a few numbers a token travel', (name) => {
    const [ofToken, besides] = SENT[name];
    // A number is sent as often in an all-reduce by a ring.
    const sent = (numbers: number) => 4 * numbers * ((2 * (ranks - 1)) / ranks);
    for (const { measured } of found) {
      expect(measured[name]!.bytes).toBeCloseTo(sent(ofToken * TOKENS + besides), 3);
      if (name !== 'sparse')
        expect(measured[trained(name)]!.bytes).toBeCloseTo(sent((ofToken + WIDTH) * TOKENS + besides), 3);
    }
  });

  it('compiled steps with vectors and with tokens see the labels of each step', () => {
    for (const { compiled } of found) {
      expect(compiled).toHaveLength(2);
      for (const each of compiled) expect(each.compiled).toEqual(each.plain);
      expectClose(compiled[0]!.plain, alone.compiled[0]!.plain, { rtol: 1e-4 });
      expect(new Set(compiled[0]!.plain).size).toBe(6);
    }
  });

  it.each(NAMES)('%s: a rank needs its share of the memory', (name) => {
    // Who reads the vectors besides needs them whole: at most as int32, and a sum of them.
    const whole = name === 'read besides' ? 0.5 : 0;
    for (const { measured } of found) {
      const share = measured[name]!.peakBytes / alone.measured[name]!.peakBytes;
      expect(share).toBeLessThan(whole + 1.08 / ranks);
      if (whole) expect(share).toBeGreaterThan(1.2 / ranks);
    }
  });
});
