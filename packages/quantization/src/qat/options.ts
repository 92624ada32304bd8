import * as z from 'zod';
import type { Granularity } from '@acc/kernels';
import { chosenGlobs, excludedGlobs, granularity } from '../options.js';

export interface QatOptions {
  readonly weights: 'int8' | 'int4';
  /** The values that share a scale. Default: `row` for int8, `{ group: 128 }` for int4. */
  readonly granularity?: Granularity;
  /**
   * `observed`: scales follow the largest values of the weights. `learned`: scales are weights of the layer,
   * which are trained too. Default `observed`.
   */
  readonly scales?: 'observed' | 'learned';
  /**
   * `dynamic` rounds each row of the input of dense layers to int8, by the largest magnitude in it. It needs
   * int8 weights by row or tensor. `static` rounds inputs of dense and convolution layers to int8 by a range
   * that an observer finds in training. Default `none`.
   */
  readonly activations?: 'none' | 'dynamic' | 'static';
  /**
   * How an observer of `static` finds its range: from the least and largest values of all training passes, or
   * from a moving average of those of each pass. Default `movingAverage`.
   */
  readonly observer?: 'minMax' | 'movingAverage';
  /** The number of training passes after which the ranges stay as they are. Default: they never do. */
  readonly freezeAfter?: number;
  /**
   * The names of the layers, or globs: `*` stands for any characters but `/`, `**` for any. Default: all
   * that can be prepared.
   */
  readonly layers?: readonly string[];
  /** The names of layers that stay as they are, or globs. Default: none. */
  readonly exclude?: readonly string[];
}

/** Passes are counted in float32, which has all whole numbers up to this one. */
export const MOST_PASSES = 2 ** 24;

export const QAT_SCHEMA = z.object({
  weights: z.enum(['int8', 'int4']),
  granularity,
  scales: z.enum(['observed', 'learned']).default('observed'),
  activations: z.enum(['none', 'dynamic', 'static']).default('none'),
  observer: z.enum(['minMax', 'movingAverage']).optional(),
  freezeAfter: z.number().int().min(1).max(MOST_PASSES).optional(),
  layers: chosenGlobs,
  exclude: excludedGlobs,
});
