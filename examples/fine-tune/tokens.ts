import { readFileSync } from 'node:fs';

/** The text of char-gpt. Its first part teaches the model, its second part is new to it. */
const TEXT = readFileSync(new URL('../char-gpt/coriolanus.txt', import.meta.url));

/**
 * The bytes in the order of GPT-2's first 256 tokens: those that print, then all others. So these
 * tokens are right for every GPT-2, although its longer tokens would make fewer of them.
 */
const BYTES = [...range(33, 126), ...range(161, 172), ...range(174, 255)];
BYTES.push(...range(0, 255).filter((byte) => !BYTES.includes(byte)));

const tokenOf = new Map(BYTES.map((byte, token) => [byte, token]));

/** The number of tokens of a model that knows bytes only. */
export const VOCABULARY = BYTES.length;

export function encode(text: string | Uint8Array): Int32Array {
  const bytes = typeof text === 'string' ? new TextEncoder().encode(text) : text;
  return Int32Array.from(bytes, (byte) => tokenOf.get(byte)!);
}

/** Longer tokens than bytes show as `?`. */
export function decode(tokens: Iterable<number>): string {
  return new TextDecoder().decode(Uint8Array.from(tokens, (token) => BYTES[token] ?? 63));
}

/** Stretches of `length` tokens, each of which begins where the last one ended. */
export function stretches(part: 'first' | 'second', length: number, count: number): Int32Array[] {
  const half = Math.floor(TEXT.length / 2);
  const tokens = encode(part === 'first' ? TEXT.subarray(0, half) : TEXT.subarray(half));
  const all = Math.min(count, Math.floor(tokens.length / length));
  return Array.from({ length: all }, (_, i) => tokens.slice(i * length, (i + 1) * length));
}

function range(from: number, to: number): number[] {
  return Array.from({ length: to - from + 1 }, (_, i) => from + i);
}
