import { halfValues } from './half.js';

// Blocks of 32 values, as ggml-quants.c has them. Sums and products of float64 that are then rounded to
// float32 are those of float32: each has two operands of at most 24 bits.

const VALUES = 32;
const PAIRS = VALUES / 2;

interface Layout {
  /** The bytes of a block. */
  readonly bytes: number;
  /** The offset of the numbers' lower four bits. */
  readonly numbers: number;
  /** The offset of the fifth bits. Undefined: the numbers have four. */
  readonly fifths?: number;
  /** Subtracted from the numbers. Undefined: the block has a least value, behind its scale. */
  readonly middle?: number;
}

/** value = scale · (number - middle), or scale · number + least. */
function decoder({ bytes, numbers, fifths, middle }: Layout) {
  return (blocks: Uint8Array, values: Float32Array): void => {
    const halves = halfValues();
    for (let at = 0, to = 0; to < values.length; at += bytes, to += VALUES) {
      const scale = halves[blocks[at]! | (blocks[at + 1]! << 8)]!;
      // A sum with -0 is the other number, also where that is -0.
      const least = middle === undefined ? halves[blocks[at + 2]! | (blocks[at + 3]! << 8)]! : -0;
      const below = middle ?? 0;
      const upper = fifths === undefined ? 0 : wordAt(blocks, at + fifths);
      for (let i = 0; i < PAIRS; i++) {
        const pair = blocks[at + numbers + i]!;
        const first = (pair & 15) | (((upper >>> i) & 1) << 4);
        const second = (pair >> 4) | (((upper >>> (i + PAIRS)) & 1) << 4);
        values[to + i] = scale * (first - below) + least;
        values[to + i + PAIRS] = scale * (second - below) + least;
      }
    }
  };
}

function wordAt(bytes: Uint8Array, at: number): number {
  return bytes[at]! | (bytes[at + 1]! << 8) | (bytes[at + 2]! << 16) | (bytes[at + 3]! << 24);
}

function decodeBytes(blocks: Uint8Array, values: Float32Array): void {
  const halves = halfValues();
  const signed = new Int8Array(blocks.buffer, blocks.byteOffset, blocks.length);
  for (let at = 0, to = 0; to < values.length; at += 2 + VALUES, to += VALUES) {
    const scale = halves[blocks[at]! | (blocks[at + 1]! << 8)]!;
    for (let i = 0; i < VALUES; i++) values[to + i] = scale * signed[at + 2 + i]!;
  }
}

export const decodeSmall = {
  q40: decoder({ bytes: 18, numbers: 2, middle: 8 }),
  q41: decoder({ bytes: 20, numbers: 4 }),
  q50: decoder({ bytes: 22, fifths: 2, numbers: 6, middle: 16 }),
  q51: decoder({ bytes: 24, fifths: 4, numbers: 8 }),
  q80: decodeBytes,
};
