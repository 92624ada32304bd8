import { fraction53 } from '@acc/platform';

const WORD = 2 ** 32;
const GOLDEN_GAMMA = 0x9e3779b97f4a7c15n;

/** Draws unsigned 32-bit integers. */
export type RandomWords = () => number;

/**
 * xoshiro128** 1.1 (D. Blackman and S. Vigna, Scrambled Linear Pseudorandom Number Generators,
 * 2021). It uses 32-bit arithmetic only, which is fast in JavaScript.
 *
 * @param state Four unsigned 32-bit words, not all 0.
 */
export function xoshiro128(state: readonly [number, number, number, number]): RandomWords {
  let [a, b, c, d] = state;
  return () => {
    const result = Math.imul(rotateLeft(Math.imul(b, 5), 7), 9) >>> 0;
    const t = b << 9;
    c ^= a;
    d ^= b;
    b ^= c;
    a ^= d;
    c ^= t;
    d = rotateLeft(d, 11);
    return result;
  };
}

/**
 * SplitMix64 (G. Steele, D. Lea and C. Flood, Fast Splittable Pseudorandom Number Generators,
 * 2014). The authors of xoshiro recommend it for seeding: seeds that differ in one bit give
 * unrelated states.
 *
 * @param seed The state before the first draw, modulo 2^64.
 */
export function splitMix64(seed: bigint): () => bigint {
  let state = seed;
  return () => {
    state = BigInt.asUintN(64, state + GOLDEN_GAMMA);
    let z = state;
    z = BigInt.asUintN(64, (z ^ (z >> 30n)) * 0xbf58476d1ce4e5b9n);
    z = BigInt.asUintN(64, (z ^ (z >> 27n)) * 0x94d049bb133111ebn);
    return z ^ (z >> 31n);
  };
}

/**
 * A stream of words for a seed and an epoch, both integers. Streams of different epochs are
 * unrelated.
 */
export function randomWords(seed: number, epoch: number): RandomWords {
  return wordsFrom(epochState(seed, epoch));
}

/**
 * A stream of words for one sample of an epoch, for example for its augmentation. It is unrelated
 * to the streams of other samples and to that of the epoch.
 *
 * @param sample The number of the sample, from 0.
 */
export function sampleWords(seed: number, epoch: number, sample: number): RandomWords {
  return wordsFrom(nextState(epochState(seed, epoch), sample + 1));
}

function epochState(seed: number, epoch: number): bigint {
  return nextState(splitMix64(BigInt(seed))(), epoch);
}

function nextState(state: bigint, number: number): bigint {
  return splitMix64(state + BigInt(number) * GOLDEN_GAMMA)();
}

function wordsFrom(state: bigint): RandomWords {
  const draw = splitMix64(state);
  const [high, low] = [draw(), draw()];
  return xoshiro128([upperWord(high), lowerWord(high), upperWord(low), lowerWord(low)]);
}

/** A number from 0 (inclusive) to 1 (exclusive) with 53 random bits. */
export function uniform(draw: RandomWords): number {
  return fraction53(draw(), draw());
}

/** A uniformly distributed integer in [0, bound). `bound` is at most 2^32. */
export function randomBelow(draw: RandomWords, bound: number): number {
  // Words above the largest multiple of `bound` would make small results more likely, so they are
  // drawn again.
  const limit = WORD - (WORD % bound);
  let word = draw();
  while (word >= limit) word = draw();
  return word % bound;
}

function rotateLeft(x: number, bits: number): number {
  return (x << bits) | (x >>> (32 - bits));
}

function upperWord(x: bigint): number {
  return Number(x >> 32n);
}

function lowerWord(x: bigint): number {
  return Number(x & 0xffffffffn);
}
