import type { GenerateSettings } from './options.js';

/** Draws numbers in [0, 1). */
export type Random = () => number;

/**
 * Draws a token from logits: temperature, then the `topK` most probable, then the fewest whose
 * probabilities reach `topP`.
 */
export function drawToken(logits: Float32Array, settings: GenerateSettings, random: Random): number {
  const { temperature = 1, topK = logits.length, topP = 1 } = settings;
  const order = Array.from(logits.keys()).sort((a, b) => logits[b]! - logits[a]! || a - b);
  const kept = order.slice(0, topK);
  const highest = logits[kept[0]!]!;
  const weights = kept.map((token) => Math.exp((logits[token]! - highest) / temperature));
  const count = nucleus(weights, topP);
  let left = random() * sum(weights, count);
  for (let i = 0; i < count; i++) {
    left -= weights[i]!;
    if (left < 0) return kept[i]!;
  }
  return kept[count - 1]!;
}

/** The number of first weights whose share of the sum reaches `topP`. */
function nucleus(weights: readonly number[], topP: number): number {
  if (topP === 1) return weights.length;
  const goal = topP * sum(weights, weights.length);
  let reached = 0;
  const last = weights.findIndex((weight) => (reached += weight) >= goal);
  return last === -1 ? weights.length : last + 1;
}

function sum(weights: readonly number[], count: number): number {
  let total = 0;
  for (let i = 0; i < count; i++) total += weights[i]!;
  return total;
}

/**
 * A generator for a row of a batch (mulberry32). Rows have their own, so that what one draws does not
 * depend on the others.
 */
export function randomOf(seed: number, row: number): Random {
  let state = mixed((seed >>> 0) ^ mixed(row + 0x9e3779b9) ^ Math.floor(seed / 2 ** 32));
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    return mixed(state) / 2 ** 32;
  };
}

/** A seed of the system's generator. `Math.random` is the training's stream of random numbers. */
export const newSeed = (): number => crypto.getRandomValues(new Uint32Array(1))[0]!;

function mixed(word: number): number {
  let value = word >>> 0;
  value = Math.imul(value ^ (value >>> 15), value | 1);
  value ^= value + Math.imul(value ^ (value >>> 7), value | 61);
  return (value ^ (value >>> 14)) >>> 0;
}
