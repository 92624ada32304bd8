import { float16Bits } from '@acc/kernels';

/** Writes `values`, whole blocks of them, as `blocks`. */
type Encode = (values: Float32Array, blocks: Uint8Array) => void;

/** How a tensor is written. */
export interface WrittenType {
  /** Its number in files. */
  readonly number: number;
  /** `general.file_type` of a file whose matrices are of this type: llama.cpp's `llama_ftype`. */
  readonly fileType: number;
  /** The values of a block. */
  readonly values: number;
  /** The bytes of a block. */
  readonly bytes: number;
  readonly encode: Encode;
}

export type WrittenTypeName = 'F32' | 'F16' | 'Q8_0' | 'Q4_0';

export const WRITTEN_TYPES: Readonly<Record<WrittenTypeName, WrittenType>> = {
  F32: { number: 0, fileType: 0, values: 1, bytes: 4, encode: encodeFloats },
  F16: { number: 1, fileType: 1, values: 1, bytes: 2, encode: encodeHalves },
  Q8_0: { number: 8, fileType: 7, values: 32, bytes: 34, encode: encodeQ8 },
  Q4_0: { number: 2, fileType: 2, values: 32, bytes: 18, encode: encodeQ4 },
};

const VALUES = 32;

function encodeFloats(values: Float32Array, blocks: Uint8Array): void {
  blocks.set(new Uint8Array(values.buffer, values.byteOffset, values.byteLength));
}

function encodeHalves(values: Float32Array, blocks: Uint8Array): void {
  values.forEach((value, i) => writeHalf(blocks, 2 * i, value));
}

function writeHalf(blocks: Uint8Array, at: number, value: number): void {
  const bits = float16Bits(value);
  blocks[at] = bits & 255;
  blocks[at + 1] = bits >> 8;
}

/** `quantize_row_q8_0_ref` of ggml: halves are rounded away from zero. */
function encodeQ8(values: Float32Array, blocks: Uint8Array): void {
  for (let from = 0, at = 0; from < values.length; from += VALUES, at += 2 + VALUES) {
    const block = values.subarray(from, from + VALUES);
    const scale = Math.fround(Math.abs(extreme(block)) / 127);
    const factor = scale === 0 ? 0 : Math.fround(1 / scale);
    writeHalf(blocks, at, scale);
    for (let i = 0; i < VALUES; i++) {
      const scaled = Math.fround(block[i]! * factor);
      blocks[at + 2 + i] = Math.sign(scaled) * Math.floor(Math.abs(scaled) + 0.5);
    }
  }
}

/**
 * `quantize_row_q4_0_ref` of ggml: the value of largest magnitude becomes number 0. The product and the sum
 * are rounded to float32, as in the `gguf` package; a ggml that fuses them rounds once.
 */
function encodeQ4(values: Float32Array, blocks: Uint8Array): void {
  for (let from = 0, at = 0; from < values.length; from += VALUES, at += 2 + VALUES / 2) {
    const block = values.subarray(from, from + VALUES);
    const scale = Math.fround(extreme(block) / -8);
    const factor = scale === 0 ? 0 : Math.fround(1 / scale);
    const numberOf = (i: number) =>
      Math.min(15, Math.trunc(Math.fround(Math.fround(block[i]! * factor) + 8.5)));
    writeHalf(blocks, at, scale);
    for (let i = 0; i < VALUES / 2; i++) blocks[at + 2 + i] = numberOf(i) | (numberOf(i + VALUES / 2) << 4);
  }
}

/** The first value of the largest magnitude. */
function extreme(block: Float32Array): number {
  let found = 0;
  for (const value of block) if (Math.abs(value) > Math.abs(found)) found = value;
  return found;
}
