import { describe, expect, it } from 'vitest';
import { highest } from './highest.js';
import { drawToken, randomOf } from './sampling.js';

describe('a draw', () => {
  const logits = Float32Array.from([1, 3, 2, 0, -1]);
  /** The frequencies of the tokens in many draws. */
  const frequencies = (options: object): number[] => {
    const random = randomOf(11, 0);
    const counts = [0, 0, 0, 0, 0];
    const settings = { maxNewTokens: 1, useCache: true, ...options };
    for (let i = 0; i < 20_000; i++) counts[drawToken(logits, settings, random)]! += 1 / 20_000;
    return counts;
  };
  const softmax = (temperature: number, kept: readonly number[]): number[] => {
    const weights = Array.from(logits, (logit, i) => (kept.includes(i) ? Math.exp(logit / temperature) : 0));
    const total = weights.reduce((sum, weight) => sum + weight);
    return weights.map((weight) => weight / total);
  };

  it.each<[string, object, number, number[]]>([
    ['by probability', {}, 1, [0, 1, 2, 3, 4]],
    ['by temperature', { temperature: 3 }, 3, [0, 1, 2, 3, 4]],
    ['among the most probable', { topK: 2 }, 1, [1, 2]],
    // Their probabilities are 0.64, 0.23, 0.09, 0.03 and 0.01.
    ['among the fewest that add up', { topP: 0.7 }, 1, [1, 2]],
    ['among the fewest of the most probable', { topK: 3, topP: 0.97, temperature: 2 }, 2, [0, 1, 2]],
    ['among all of fewer', { topK: 50 }, 1, [0, 1, 2, 3, 4]],
    ['of the only one left', { topP: 0.1 }, 1, [1]],
  ])('%s', (_, options, temperature, kept) => {
    const expected = softmax(temperature, kept);
    // 20,000 draws with a fixed seed: five standard deviations are below 0.018.
    frequencies(options).forEach((share, i) => expect(Math.abs(share - expected[i]!)).toBeLessThan(0.018));
  });
});

describe('draws of a large vocabulary', () => {
  const random = randomOf(5, 0);
  // Few different values, so that many are equal.
  const logits = Float32Array.from({ length: 5_000 }, () => Math.floor(random() * 40) / 4);
  const sorted = Array.from(logits.keys()).sort((a, b) => logits[b]! - logits[a]! || a - b);

  it.each([1, 3, 64, 600, 626, 5_000, 6_000])('find the %i highest in their order', (count) => {
    expect(Array.from(highest(logits, count))).toEqual(sorted.slice(0, count));
  });

  it('order negative numbers, zeros and infinities', () => {
    const values = Float32Array.from([-0, -1.5, 0, -Infinity, 2, -3e-40, 1e-40, -1.5, Infinity]);
    expect(Array.from(highest(values, 9))).toEqual([8, 4, 6, 0, 2, 5, 1, 7, 3]);
  });

  it('find the highest of more than 2^21 values', () => {
    const [length, count] = [2 ** 21 + 3, 2 ** 19];
    const values = Float32Array.from({ length }, (_, i) => i % 7);
    const found = highest(values, count);
    expect(Array.from(found.subarray(0, 3))).toEqual([6, 13, 20]);
    // After all sixes come fives: 5, 12, 19 and so on.
    const fives = count - Math.floor(length / 7);
    expect(found.at(-1)).toBe(5 + 7 * (fives - 1));
  });

  /** Sorts all tokens and looks at them one by one. */
  const plain = ({ temperature = 1, topK = logits.length, topP = 1 }, draw: () => number): number => {
    const kept = sorted.slice(0, topK);
    const weights = kept.map((token) => Math.exp((logits[token]! - logits[sorted[0]!]!) / temperature));
    const total = weights.reduce((sum, weight) => sum + weight);
    let count = 0;
    for (let share = 0; share < topP * total && count < kept.length; count++) share += weights[count]!;
    let left = draw() * weights.slice(0, count).reduce((sum, weight) => sum + weight, 0);
    return kept[weights.findIndex((weight) => (left -= weight) < 0)]!;
  };

  // The last one is among more tokens than half.
  it.each([
    { topK: 50 },
    { topK: 50, topP: 0.8 },
    { topP: 0.2 },
    { topP: 0.3, temperature: 2 },
    { topP: 0.9, temperature: 20 },
  ])('with %j are those among sorted tokens', (options) => {
    const [one, other] = [randomOf(9, 0), randomOf(9, 0)];
    const settings = { maxNewTokens: 1, useCache: true, ...options };
    for (let i = 0; i < 50; i++) expect(drawToken(logits, settings, one)).toBe(plain(options, other));
  });
});

describe('logits without probabilities', () => {
  const refused = expect.objectContaining({ code: 'ACC_GENERATION_NOT_FINITE' }) as unknown;
  const settings = { maxNewTokens: 1, useCache: true };

  it.each([[[0, NaN, 1]], [[0, Infinity, 1]], [[-Infinity, -Infinity]]])('are refused: %j', (logits) => {
    const draw = () => drawToken(Float32Array.from(logits), settings, randomOf(1, 0));
    expect(draw).toThrow(refused);
  });

  it('may hide tokens', () => {
    const random = randomOf(1, 0);
    const logits = Float32Array.from([-Infinity, 2, -Infinity]);
    for (let i = 0; i < 20; i++) expect(drawToken(logits, settings, random)).toBe(1);
  });
});
