import { readFileSync } from 'node:fs';

/** The beginning of Shakespeare's "Coriolanus", 49 KB, in the public domain. */
const TEXT = readFileSync(new URL('coriolanus.txt', import.meta.url), 'utf8');
/** The last tenth of the text measures what the model learned. */
const HELD_BACK_SHARE = 0.1;

/** The characters of the text. The token of a character is its place in the list. */
export const CHARACTERS: readonly string[] = [...new Set(TEXT)].sort();

const tokenOf = new Map(CHARACTERS.map((character, token) => [character, token]));

/** @throws Error for a character that the text does not have. */
export function encode(text: string): Int32Array {
  return Int32Array.from(text, (character) => {
    const token = tokenOf.get(character);
    if (token === undefined) throw new Error(`The text has no character '${character}'.`);
    return token;
  });
}

export function decode(tokens: Iterable<number>): string {
  return Array.from(tokens, (token) => CHARACTERS[token]).join('');
}

/** Stretches of `length` + 1 tokens, each of which begins where the last one ended. */
export interface Stretches {
  readonly length: number;
  get(index: number): Int32Array;
}

/** The text in stretches: those to learn from, and those that are held back. */
export function readText(length: number): { train: Stretches; heldBack: Stretches } {
  const tokens = encode(TEXT);
  const cut = Math.floor(tokens.length * (1 - HELD_BACK_SHARE));
  return {
    train: stretchesOf(tokens.subarray(0, cut), length),
    heldBack: stretchesOf(tokens.subarray(cut), length),
  };
}

function stretchesOf(tokens: Int32Array, length: number): Stretches {
  return {
    length: Math.floor((tokens.length - 1) / length),
    get: (index) => tokens.slice(index * length, (index + 1) * length + 1),
  };
}
