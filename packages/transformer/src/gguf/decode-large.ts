import { halfValues } from './half.js';

// Blocks of 256 values, as ggml-quants.c has them: parts of 32 or 16 values have scales of 6 or 8 bits,
// which the block's own scale multiplies. Rounding is as in decode-small.ts.

const VALUES = 256;
const PART = 32;

/** The 6-bit scales of eight parts, then their 6-bit least values, from 12 bytes at `at`. */
function sixBits(blocks: Uint8Array, at: number): number[] {
  const parts = Array.from({ length: 8 }, (_, part) => part);
  const byte = (i: number) => blocks[at + i]!;
  const scales = parts.map((part) =>
    part < 4 ? byte(part) & 63 : (byte(part + 4) & 15) | ((byte(part - 4) >> 6) << 4),
  );
  const least = parts.map((part) =>
    part < 4 ? byte(part + 4) & 63 : (byte(part + 4) >> 4) | ((byte(part) >> 6) << 4),
  );
  return [...scales, ...least];
}

/** Q4_K, and Q5_K, whose numbers have fifth bits: value = scale · number - least. */
function decoderOfPairs(fifths: boolean) {
  const numbers = fifths ? 16 + PART : 16;
  const bytes = numbers + VALUES / 2;
  return (blocks: Uint8Array, values: Float32Array): void => {
    const halves = halfValues();
    for (let at = 0, to = 0; to < values.length; at += bytes, to += VALUES) {
      const scale = halves[blocks[at]! | (blocks[at + 1]! << 8)]!;
      const leastScale = halves[blocks[at + 2]! | (blocks[at + 3]! << 8)]!;
      const six = sixBits(blocks, at + 4);
      for (let part = 0; part < 8; part++) {
        const step = scale * six[part]!;
        const least = leastScale * six[part + 8]!;
        // A byte has numbers of two parts.
        const from = at + numbers + PART * (part >> 1);
        const shift = 4 * (part & 1);
        for (let i = 0; i < PART; i++) {
          const fifth = fifths ? ((blocks[at + 16 + i]! >> part) & 1) << 4 : 0;
          const number = ((blocks[from + i]! >> shift) & 15) | fifth;
          values[to + PART * part + i] = step * number - least;
        }
      }
    }
  };
}

const Q6_BYTES = 210;
const Q6_UPPER = 128;
const Q6_SCALES = 192;
const Q6_SCALE = 208;

/** value = scale · scale of 16 values · (number - 32). */
function decodeQ6(blocks: Uint8Array, values: Float32Array): void {
  const halves = halfValues();
  const signed = new Int8Array(blocks.buffer, blocks.byteOffset, blocks.length);
  for (let at = 0, to = 0; to < values.length; at += Q6_BYTES, to += VALUES) {
    const scale = halves[blocks[at + Q6_SCALE]! | (blocks[at + Q6_SCALE + 1]! << 8)]!;
    for (let i = 0; i < VALUES; i++) {
      const half = i >> 7;
      const quarter = (i >> 5) & 3;
      const place = i & 31;
      const lower = blocks[at + 64 * half + PART * (quarter & 1) + place]! >> (4 * (quarter >> 1));
      const upper = blocks[at + Q6_UPPER + PART * half + place]! >> (2 * quarter);
      const number = (lower & 15) | ((upper & 3) << 4);
      values[to + i] = scale * signed[at + Q6_SCALES + (i >> 4)]! * (number - 32);
    }
  }
}

export const decodeLarge = { q4: decoderOfPairs(false), q5: decoderOfPairs(true), q6: decodeQ6 };
