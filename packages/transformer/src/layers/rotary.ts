import {
  add,
  concat,
  cos,
  mul,
  outerProduct,
  range,
  sin,
  split,
  sub,
  tensor1d,
  type Tensor,
} from '@tensorflow/tfjs-core';
import * as z from 'zod';
import { rotaryEmbedding as rotate, sequenceOffset } from '@acc/kernels';

/**
 * How frequencies change for contexts that are longer than those of pre-training. `linear` divides
 * all by `factor`. `llama3` divides those whose wavelength is above `originalMaxPositions /
 * lowFreqFactor`, keeps those below `originalMaxPositions / highFreqFactor`, and interpolates between
 * them (Grattafiori et al. 2024).
 */
export type RotaryScaling =
  | { readonly type: 'linear'; readonly factor: number }
  | {
      readonly type: 'llama3';
      readonly factor: number;
      readonly lowFreqFactor: number;
      readonly highFreqFactor: number;
      readonly originalMaxPositions: number;
    };

export interface RotaryEmbeddingOptions {
  /** The base of the wavelengths. Default 10000. */
  readonly theta?: number;
  /** Default none. */
  readonly scaling?: RotaryScaling;
}

const positive = z.number().positive();
export const rotaryShape = {
  theta: positive.default(10_000),
  scaling: z
    .discriminatedUnion('type', [
      z.strictObject({ type: z.literal('linear'), factor: positive }),
      z.strictObject({
        type: z.literal('llama3'),
        factor: positive,
        lowFreqFactor: positive,
        highFreqFactor: positive,
        originalMaxPositions: positive,
      }),
    ])
    .optional(),
};
export const rotarySchema = z.strictObject(rotaryShape);
export type RotarySettings = z.output<typeof rotarySchema>;

/**
 * Rotates columns i and i + dim/2 of each row by position · frequency i.
 *
 * @param x `[..., length, dim]`.
 * @param before The number of positions before the first row: those of a cache. On a context axis,
 * those of earlier ranks are added.
 */
export function rotated<T extends Tensor>(x: T, { theta, scaling }: RotarySettings, before: number): T {
  const offset = before + sequenceOffset(x.shape.at(-2)!);
  if (!scaling) return rotate(x, { base: theta, offset });
  const [length, dim] = x.shape.slice(-2) as [number, number];
  const frequencies = tensor1d(scaledFrequencies(dim / 2, theta, scaling));
  const angles = outerProduct(range(offset, offset + length, 1, 'float32'), frequencies);
  const [c, s] = [cos(angles), sin(angles)];
  const [a, b] = split(x as Tensor, 2, -1) as [Tensor, Tensor];
  return concat([sub(mul(a, c), mul(b, s)), add(mul(b, c), mul(a, s))], -1) as T;
}

/** The angles of a position, in radians for each step: of `half` pairs of columns. */
export function scaledFrequencies(half: number, theta: number, scaling: RotaryScaling): number[] {
  const plain = Array.from({ length: half }, (_, i) => theta ** (-i / half));
  const { factor } = scaling;
  if (scaling.type === 'linear') return plain.map((frequency) => frequency / factor);
  const { lowFreqFactor: low, highFreqFactor: high, originalMaxPositions } = scaling;
  return plain.map((frequency) => {
    // The number of turns within the context of pre-training.
    const turns = (originalMaxPositions * frequency) / (2 * Math.PI);
    const share = Math.min(1, Math.max(0, (turns - low) / (high - low)));
    return (share + (1 - share) / factor) * frequency;
  });
}
