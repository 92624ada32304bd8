import { expect, it } from 'vitest';
import { RandomSource } from './random-source.js';

it('continues from a state, in any block', () => {
  const source = new RandomSource(7);
  const draw = (count: number) => Array.from({ length: count }, () => source.next());
  for (const before of [0, 1, 3, 2 ** 15 - 5]) {
    draw(before);
    const state = structuredClone(source.getState());
    const expected = draw(8);
    source.setState(state);
    expect(draw(8)).toEqual(expected);
    expect(new RandomSource(8).next()).not.toBe(expected[0]);
  }
});

it('draws uniformly from [0, 1)', () => {
  const source = new RandomSource(1);
  const values = Array.from({ length: 20_000 }, () => source.next());
  expect(Math.min(...values)).toBeGreaterThanOrEqual(0);
  expect(Math.max(...values)).toBeLessThan(1);
  const mean = values.reduce((sum, value) => sum + value, 0) / values.length;
  expect(mean).toBeCloseTo(0.5, 2);
});

it('refuses an invalid state', () => {
  const source = new RandomSource(1);
  expect(() => source.setState({ seed: 1, block: -1, drawn: 0 })).toThrowError(
    expect.objectContaining({ code: 'ACC_STATE_INVALID' }),
  );
});
