import * as z from 'zod';
import type { ChannelAxis, Granularity, StorageDtype } from '@acc/kernels';
import { tooFewValues } from './errors.js';

/** How products treat what is multiplied with quantized weights. */
export type Activations = 'none' | 'dynamic';

/** How the numbers of weights are chosen. */
export type Algorithm = 'nearest' | 'hqq';

interface WeightOptions {
  /**
   * The values that share a scale. Default: `row` for int8, `{ group: 128 }` for int4, `{ group: 64 }` for
   * nf4. Groups have consecutive values of an output channel, and are the only choice of int4 and nf4.
   */
  readonly granularity?: Granularity;
  /** `hqq` needs int4: it moves zero points. Default `nearest`. */
  readonly algorithm?: Algorithm;
  /**
   * `dynamic` rounds each row of the input of a product to int8 too. It needs int8 weights by row or
   * tensor, a CPU, and matrix products: dense layers and tables of tied output layers. Default `none`: the
   * input has 16 bits in fast products, and 32 in others.
   */
  readonly activations?: Activations;
}

export interface QuantizeOptions extends WeightOptions {
  /** The format of all layers. Leave it out with `bitsPerWeight`. */
  readonly weights?: 'int8' | 'int4' | 'nf4';
  /**
   * In place of `weights`: the largest mean number of bits, with scales. Each layer gets int4 in groups of 128, 64
   * or 32, or int8 by row, so that the errors of all layers together are small.
   */
  readonly bitsPerWeight?: number;
  /**
   * The names of the layers, or globs: `*` stands for any characters but `/`, `**` for any. Default: all
   * that can be quantized.
   */
  readonly layers?: readonly string[];
  /** The names of layers that stay as they are, or globs. Default: none. */
  readonly exclude?: readonly string[];
}

export interface QuantizeVariableOptions extends WeightOptions {
  readonly weights: StorageDtype;
  /** The dim of the output channels. Default `last`, as in kernels of layers. */
  readonly axis?: ChannelAxis;
}

const group = z.union([z.literal(32), z.literal(64), z.literal(128)]);

export const granularity = z.union([z.enum(['tensor', 'row']), z.strictObject({ group })]).optional();

const weightShape = {
  granularity,
  algorithm: z.enum(['nearest', 'hqq']).default('nearest'),
  activations: z.enum(['none', 'dynamic']).default('none'),
};

/** Names of formats with 1 or 2 bits, as other libraries have them. */
const FEW_VALUES = /^(u?int[12]|b?[12]([.]58)?([- ]?bits?)?|binary|ternary|bitnet.*)$/i;

/** @throws AccError `ACC_INVALID_OPTION` for a format with two or three values. */
export function requireManyValues(caller: string, options: { readonly weights?: unknown } | undefined): void {
  const name = String(options?.weights);
  if (FEW_VALUES.test(name)) throw tooFewValues(caller, name);
}

export const globs = z.array(z.string().min(1)).min(1);

export const MODEL_SCHEMA = z.object({
  weights: z.enum(['int8', 'int4', 'nf4']).optional(),
  bitsPerWeight: z.number().positive().max(32).optional(),
  ...weightShape,
  layers: globs.optional(),
  exclude: globs.default([]),
});

export const VARIABLE_SCHEMA = z.object({
  weights: z.enum(['bf16', 'fp16', 'int8', 'int4', 'nf4']),
  ...weightShape,
  axis: z.enum(['first', 'last']).default('last'),
});

/** Options with all defaults, which fit each other. */
export interface WeightSettings {
  readonly weights: StorageDtype;
  readonly granularity: Granularity;
  readonly algorithm: Algorithm;
  readonly activations: Activations;
}
