import {
  add,
  cast,
  floorDiv,
  greaterEqual,
  mod,
  mul,
  pad,
  reshape,
  scalar,
  slice,
  sub,
  sum,
  tensor,
  tidy,
  type Tensor,
} from '@tensorflow/tfjs-core';

const BITS = 32;

/** 2^k for each bit. The last bit is the sign of an int32. */
const WEIGHTS = Int32Array.from({ length: BITS }, (_, bit) => 1 << bit);
// 2^31 is not an int32. Therefore a shift by k bits is done in two steps, each by about half of
// them.
const FIRST_SHIFTS = Int32Array.from({ length: BITS }, (_, bit) => 1 << (bit >> 1));
const THEN_SHIFTS = Int32Array.from({ length: BITS }, (_, bit) => 1 << (bit - (bit >> 1)));

/** The number of words for the signs of `elements` numbers. */
export const wordsOf = (elements: number) => Math.ceil(elements / BITS);

/**
 * The signs of `x`, 32 to a word: 1 for numbers that are not negative. int32 of shape
 * [wordsOf(x.size)].
 */
export function packSigns(x: Tensor): Tensor {
  return tidy(() => {
    const words = wordsOf(x.size);
    const bits = pad(cast(greaterEqual(x, 0), 'int32'), [[0, words * BITS - x.size]]);
    // Bit 31 has the value -2^31, so every partial sum fits into int32.
    return sum(mul(reshape(bits, [words, BITS]), tensor(WEIGHTS, [1, BITS], 'int32')), 1);
  });
}

/**
 * Unpacks signs as 1 and -1, float32 of shape [ranks, elements], from words of shape [ranks ·
 * wordsOf(elements)].
 */
export function unpackSigns(words: Tensor, elements: number): Tensor {
  return tidy(() => {
    const perRank = wordsOf(elements);
    const column = reshape(words, [-1, perRank, 1]);
    // Division that rounds down is a shift, also for negative words.
    const shifted = floorDiv(
      floorDiv(column, tensor(FIRST_SHIFTS, [1, 1, BITS], 'int32')),
      tensor(THEN_SHIFTS, [1, 1, BITS], 'int32'),
    );
    const bits = reshape(cast(mod(shifted, scalar(2, 'int32')), 'float32'), [-1, perRank * BITS]);
    const signs = sub(add(bits, bits), 1);
    return slice(signs, [0, 0], [-1, elements]);
  });
}
