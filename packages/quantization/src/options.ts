import * as z from 'zod';
import type { ChannelAxis, Granularity, StorageDtype } from '@acc/kernels';
import type { CalibrationData } from './calibration/batches.js';
import type { ObserverName } from './calibration/observers.js';
import { tooFewValues } from './errors.js';

/** How products treat what is multiplied with quantized weights. */
export type Activations = 'none' | 'dynamic' | 'static';

/** How the numbers of weights are chosen. */
export type Algorithm = 'nearest' | 'hqq';

/** The same with calibration. */
export type CalibratedAlgorithm = Algorithm | 'gptq' | 'awq' | 'smoothQuant';

interface WeightOptions {
  /**
   * The values that share a scale. Default: `row` for int8, `{ group: 128 }` for int4, `{ group: 64 }` for
   * nf4. Groups have consecutive values of an output channel, and are the only choice of int4 and nf4.
   */
  readonly granularity?: Granularity;
}

/** Options of GPTQ. */
export interface GptqOptions {
  /** The share of the mean second derivative that is added to all of them. Default 0.01. */
  readonly damping?: number;
  /**
   * Whether the values that meet the largest inputs are rounded first. Groups then keep the scales of their values
   * before. Default false.
   */
  readonly actOrder?: boolean;
}

/** Options of SmoothQuant. */
export interface SmoothQuantOptions {
  /** The share of the inputs' range that moves into the weights, from 0 to 1. Default 0.5. */
  readonly alpha?: number;
}

export interface QuantizeOptions extends WeightOptions {
  /** The format of all layers. Leave it out with `bitsPerWeight`. */
  readonly weights?: 'int8' | 'int4' | 'nf4';
  /**
   * `hqq` needs int4: it moves zero points. `gptq` needs int8 or int4 and `calibration`: it moves the error of each
   * value to those that are not rounded yet (Frantar et al. 2022). `awq` multiplies values that meet large inputs
   * before they are rounded, and divides the inputs (Lin et al. 2023). Both take dense and convolution layers.
   * `smoothQuant` does so to round the inputs with smaller errors (Xiao et al. 2023), and needs int8, `activations`
   * and dense layers. Default `nearest`.
   */
  readonly algorithm?: CalibratedAlgorithm;
  /** Options of `gptq`. */
  readonly gptq?: GptqOptions;
  /** Options of `smoothQuant`. */
  readonly smoothQuant?: SmoothQuantOptions;
  /**
   * `dynamic` rounds each row of the input of a product to int8 too. It needs int8 weights by row or
   * tensor, a CPU, and matrix products: dense layers and tables of tied output layers. `static` does it by one
   * range for each layer, which `calibration` finds. It also takes convolutions, whose products stay in float32.
   * Default `none`: the input has 16 bits in fast products, and 32 in others.
   */
  readonly activations?: Activations;
  /**
   * Inputs of the model for `gptq`, `awq`, `smoothQuant` and `static`: a list of batches, a DataLoader or another iterable, a
   * tf.data.Dataset, or one tensor. Of batches with targets, `xs` is used. Tensors of a list stay the caller's;
   * those that an iterator makes are disposed. `stored`, for all but `gptq`: ranges and factors come from a file
   * that is loaded later.
   */
  readonly calibration?: CalibrationData | 'stored';
  /**
   * How `static` finds the range of a layer's inputs: from their least and largest values, a moving average of
   * those of each batch, a histogram from which few far values are left out (PyTorch's `HistogramObserver`), or
   * the share of the whole range with the least mean squared error. Default `histogram`.
   */
  readonly observer?: ObserverName;
  /**
   * Whether batch normalizations that follow a layer without an activation become a part of its weights before
   * these are packed. The model then predicts the same, and cannot be trained. Default false.
   */
  readonly foldBatchNorm?: boolean;
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
  /** `hqq` needs int4: it moves zero points. Default `nearest`. */
  readonly algorithm?: Algorithm;
  /**
   * `dynamic` rounds each row of the input of a product to int8 too. It needs int8 weights by row or
   * tensor, a CPU, and a matrix. Default `none`.
   */
  readonly activations?: 'none' | 'dynamic';
  /** The dim of the output channels. Default `last`, as in kernels of layers. */
  readonly axis?: ChannelAxis;
}

const group = z.union([z.literal(32), z.literal(64), z.literal(128)]);

export const granularity = z.union([z.enum(['tensor', 'row']), z.strictObject({ group })]).optional();

/** Names of formats with 1 or 2 bits, as other libraries have them. */
const FEW_VALUES = /^(u?int[12]|b?[12]([.]58)?([- ]?bits?)?|binary|ternary|bitnet.*)$/i;

/** @throws AccError `ACC_INVALID_OPTION` for a format with two or three values. */
export function requireManyValues(caller: string, options: { readonly weights?: unknown } | undefined): void {
  const name = String(options?.weights);
  if (FEW_VALUES.test(name)) throw tooFewValues(caller, name);
}

const names = z.array(z.string().min(1));

/** The option that chooses layers: an empty list would choose none. */
export const chosenGlobs = names.min(1).optional();
/** The option that leaves layers out. */
export const excludedGlobs = names.default([]);

export const MODEL_SCHEMA = z.object({
  weights: z.enum(['int8', 'int4', 'nf4']).optional(),
  bitsPerWeight: z.number().positive().max(32).optional(),
  granularity,
  algorithm: z.enum(['nearest', 'hqq', 'gptq', 'awq', 'smoothQuant']).default('nearest'),
  gptq: z
    .strictObject({
      damping: z.number().positive().max(1).default(0.01),
      actOrder: z.boolean().default(false),
    })
    .optional(),
  smoothQuant: z.strictObject({ alpha: z.number().min(0).max(1).default(0.5) }).optional(),
  activations: z.enum(['none', 'dynamic', 'static']).default('none'),
  calibration: z.custom<CalibrationData | 'stored'>().optional(),
  observer: z.enum(['minMax', 'movingAverage', 'histogram', 'mse']).optional(),
  foldBatchNorm: z.boolean().default(false),
  layers: chosenGlobs,
  exclude: excludedGlobs,
});

export const VARIABLE_SCHEMA = z.object({
  weights: z.enum(['bf16', 'fp16', 'int8', 'int4', 'nf4']),
  granularity,
  algorithm: z.enum(['nearest', 'hqq']).default('nearest'),
  activations: z.enum(['none', 'dynamic']).default('none'),
  axis: z.enum(['first', 'last']).default('last'),
});

/** Options with all defaults, which fit each other. */
export interface WeightSettings {
  readonly weights: StorageDtype;
  readonly granularity: Granularity;
  readonly algorithm: Algorithm;
  readonly activations: Activations;
}
