import { beforeAll, describe, expect, it } from 'vitest';
import { expectClose } from '@acc/testkit';
import { onRanks } from '../on-ranks.js';
import type { Memory } from './ranks/memory.js';

const results = new Map<number, Memory[]>();

beforeAll(async () => {
  const module = new URL('./ranks/memory.ts', import.meta.url);
  for (const ranks of [1, 2]) results.set(ranks, await onRanks<Memory>({ module, ranks }));
});

/** Activations, and tensors of a few elements. */
const SMALL = 0.2;

// Six units of one variable each.
describe('on 2 ranks, in stage 3', () => {
  it('forward and backward hold the values of at most two units', () => {
    for (const { oneByOne } of results.get(2)!) {
      expect(oneByOne.forward).toBeLessThan(2 + SMALL);
      // Two units, their whole gradients or those on their way, and the shards of four.
      expect(oneByOne.step).toBeLessThan(2 + 2 + 4 / 2 + SMALL);
    }
  });

  it('no unit is gathered ahead while an operator uses two', () => {
    for (const { pairs } of results.get(2)!) expect(pairs.forward).toBeLessThan(2 + SMALL);
  });

  it('a prediction without a pass holds those of two, and afterwards those that its last operator used', () => {
    for (const { oneByOne, pairs } of results.get(2)!) {
      expect(oneByOne.prediction).toBeLessThan(2 + SMALL);
      expect(oneByOne.afterPrediction).toBeLessThan(1 + SMALL);
      // Until its end, an operator may use what the one before has used.
      expect(pairs.prediction).toBeLessThan(4 + SMALL);
      expect(pairs.afterPrediction).toBeLessThan(2 + SMALL);
    }
  });
});

it('tensors that variables were made from, and that nobody disposes, hold no whole weights on 2 ranks', () => {
  for (const { plain } of results.get(2)!) {
    // Of weights, gradients and the moments of Adam: 4, 4 and 8 bytes a parameter, divided by 2.
    expect(plain[3].resting).toBeLessThan(1.1 * 6);
    expect(plain[3].withGradients).toBeLessThan(1.1 * 8);
    expect(plain[2].resting).toBeLessThan(1.1 * 8);
    expect(plain[2].withGradients).toBeLessThan(1.1 * 10);
  }
});

it('nothing is left of a pass that failed while gradients were on their way', () => {
  for (const { afterFailure } of results.get(2)!) expect(afterFailure).toEqual({ 1: 0, 3: 0 });
});

it('the losses are those of one process', () => {
  const alone = results.get(1)![0]!.losses;
  for (const { losses } of results.get(2)!) {
    for (const [name, values] of Object.entries(alone))
      expectClose(losses[name]!, values, { rtol: 1e-5, atol: 1e-6 });
  }
});
