import { AccError } from '@acc/contract';
import { highest, positions } from './highest.js';
import type { GenerateSettings } from './options.js';

/** Draws numbers in [0, 1). */
export type Random = () => number;

/** The number of tokens among which `topP` is looked for first. */
const FEW = 64;
const GROWTH = 8;

/** Tokens and their probabilities, which need not add up to 1. */
interface Candidates {
  readonly tokens: Uint32Array;
  readonly weights: Float64Array;
}

/**
 * Draws a token from logits: temperature, then the `topK` most probable, then the fewest whose
 * probabilities reach `topP`.
 *
 * @throws AccError `ACC_GENERATION_NOT_FINITE` if the logits give no probabilities.
 */
export function drawToken(logits: Float32Array, settings: GenerateSettings, random: Random): number {
  const { tokens, weights } = candidates(logits, settings);
  let left = random() * sum(weights);
  for (let i = 0; i < tokens.length; i++) {
    left -= weights[i]!;
    if (left < 0) return tokens[i]!;
  }
  return tokens[tokens.length - 1]!;
}

function candidates(
  logits: Float32Array,
  { temperature = 1, topK = Infinity, topP = 1 }: GenerateSettings,
): Candidates {
  const most = mostOf(logits);
  const weigh = (tokens: Uint32Array): Candidates => {
    const weights = new Float64Array(tokens.length);
    for (let i = 0; i < weights.length; i++)
      weights[i] = Math.exp((logits[tokens[i]!]! - most) / temperature);
    return { tokens, weights };
  };
  if (topK < logits.length) {
    const kept = weigh(highest(logits, topK));
    return (topP < 1 && nucleus(kept, topP * sum(kept.weights))) || kept;
  }
  const all = weigh(positions(logits.length));
  if (topP === 1) return all;
  const goal = topP * sum(all.weights);
  for (let count = FEW; count < logits.length; count *= GROWTH) {
    const found = nucleus(weigh(highest(logits, count)), goal);
    if (found) return found;
  }
  return nucleus(weigh(highest(logits, logits.length)), goal) ?? all;
}

/** The first candidates whose weights reach `goal`. Undefined if all of them do not. */
function nucleus({ tokens, weights }: Candidates, goal: number): Candidates | undefined {
  let reached = 0;
  const last = weights.findIndex((weight) => (reached += weight) >= goal);
  if (last === -1) return undefined;
  return { tokens: tokens.subarray(0, last + 1), weights: weights.subarray(0, last + 1) };
}

/** The highest logit. */
function mostOf(logits: Float32Array): number {
  let most = -Infinity;
  for (const logit of logits) {
    if (Number.isNaN(logit)) throw notFinite();
    if (logit > most) most = logit;
  }
  if (!Number.isFinite(most)) throw notFinite();
  return most;
}

/** The error of logits that give no probabilities. */
export function notFinite(): AccError {
  return new AccError(
    'ACC_GENERATION_NOT_FINITE',
    'generate: the model gave logits with NaN, with infinity, or only with -infinity.',
    { help: 'Look at the weights: training may have diverged, or a file may be of another model.' },
  );
}

function sum(weights: Float64Array): number {
  let total = 0;
  for (const weight of weights) total += weight;
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
