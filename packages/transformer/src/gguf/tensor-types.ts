import { decodeSmall } from './decode-small.js';
import { decodeLarge } from './decode-large.js';
import { halfValues } from './half.js';

/** Fills `values` from whole blocks. */
export type Decode = (blocks: Uint8Array, values: Float32Array) => void;

/** How a tensor lies in a file: blocks of consecutive values of a row. */
export interface TensorType {
  readonly name: string;
  /** The values of a block. */
  readonly values: number;
  /** The bytes of a block. */
  readonly bytes: number;
  readonly decode: Decode;
}

const type = (name: string, values: number, bytes: number, decode: Decode): TensorType => ({
  name,
  values,
  bytes,
  decode,
});

/** The types that are read, by their numbers in files: `ggml_type` of ggml. */
export const TENSOR_TYPES: ReadonlyMap<number, TensorType> = new Map([
  [0, type('F32', 1, 4, decodeFloats)],
  [1, type('F16', 1, 2, decodeHalves)],
  [2, type('Q4_0', 32, 18, decodeSmall.q40)],
  [3, type('Q4_1', 32, 20, decodeSmall.q41)],
  [6, type('Q5_0', 32, 22, decodeSmall.q50)],
  [7, type('Q5_1', 32, 24, decodeSmall.q51)],
  [8, type('Q8_0', 32, 34, decodeSmall.q80)],
  [12, type('Q4_K', 256, 144, decodeLarge.q4)],
  [13, type('Q5_K', 256, 176, decodeLarge.q5)],
  [14, type('Q6_K', 256, 210, decodeLarge.q6)],
  [30, type('BF16', 1, 2, decodeShorts)],
]);

/** Names of types that are not read, for messages. */
const OTHERS: Readonly<Record<number, string>> = { 9: 'Q8_1', 10: 'Q2_K', 11: 'Q3_K', 15: 'Q8_K' };

export const otherType = (number: number): string => OTHERS[number] ?? `number ${number}`;

function decodeFloats(blocks: Uint8Array, values: Float32Array): void {
  new Uint8Array(values.buffer, values.byteOffset, values.byteLength).set(blocks);
}

function decodeHalves(blocks: Uint8Array, values: Float32Array): void {
  const halves = halfValues();
  for (let i = 0; i < values.length; i++) values[i] = halves[blocks[2 * i]! | (blocks[2 * i + 1]! << 8)]!;
}

/** bfloat16: the upper half of a float32. */
function decodeShorts(blocks: Uint8Array, values: Float32Array): void {
  const words = new Uint16Array(values.buffer, values.byteOffset, 2 * values.length);
  for (let i = 0; i < values.length; i++) {
    words[2 * i] = 0;
    words[2 * i + 1] = blocks[2 * i]! | (blocks[2 * i + 1]! << 8);
  }
}
