import { AccError, checkKeys, isRecord, parseOptions, type Float32Precision } from '@acc/contract';
import * as z from 'zod';
import { OP_LISTS, type OpLists } from './op-lists.js';

export interface AmpOptions {
  /** The loss scale of `fp16`. */
  readonly lossScale?: LossScaleOptions;
  /** Additional kernels that compute in 16 bits, by tfjs's names. */
  readonly lower?: readonly string[];
  /** Additional kernels that compute in float32. */
  readonly float32?: readonly string[];
  /**
   * How products and convolutions of float32 tensors compute, with or without mixed precision.
   * `tf32` (NVIDIA GPUs since Ampere) and `bf16` (CPUs with bfloat16 instructions) round the
   * factors and are faster; `ieee` does not round. Default: that of libtorch, which is `ieee`
   * except for convolutions on a GPU.
   */
  readonly float32Precision?: Float32Precision;
  /** How `fp8` rounds. */
  readonly fp8?: Float8Options;
  /**
   * The weights that are not multiplied in 8 bits with `int8` and `fp8`, by names or patterns of variables, of their
   * layers, and of layers around these. `*` stands for any characters but `/`, `**` for any. An empty list
   * leaves out none. Default: the first and the last matrix, and matrices with fewer than 128 rows or columns.
   */
  readonly exclude?: readonly string[];
}

/** Floats of 8 bits, as torchao's recipes and Transformer Engine train with them. */
export interface Float8Options {
  /**
   * `tensorwise`: one scale for each factor of a product, which is fastest on a GPU. `rowwise`: one for each
   * row of the first factor and for each column of the second one, which is more exact. Default `tensorwise`.
   */
  readonly recipe?: 'tensorwise' | 'rowwise';
  /**
   * The type of gradients of results. `e5m2` has a wider range, `e4m3` is more exact. Weights and
   * activations are `e4m3`. With `rowwise`, it is `e4m3` if nothing is given. Default `e5m2`.
   */
  readonly gradients?: 'e4m3' | 'e5m2';
  /**
   * Rounds scales down to powers of two, by which numbers are multiplied without rounding. With `rowwise`, it
   * is true if nothing is given. Default false.
   */
  readonly powerOfTwoScales?: boolean;
  /**
   * The source of a scale: `current` numbers, or with `delayed` the largest magnitude of earlier steps,
   * for which the recipe must be `tensorwise`. Default `current`.
   */
  readonly scaling?: 'current' | 'delayed';
  /** The number of earlier steps with `delayed`, at most 65,536. Default 16. */
  readonly amaxHistory?: number;
}

/** Loss scaling. A dynamic scale is as large as gradients in float16 allow. */
export interface LossScaleOptions {
  /**
   * False: the scale stays `initial`. Steps with gradients that are not finite are still skipped.
   * Default true.
   */
  readonly dynamic?: boolean;
  /** The first scale. It must not be below `minimum`. Default 65,536. */
  readonly initial?: number;
  /** The factor by which the scale grows. Default 2. */
  readonly growthFactor?: number;
  /** The factor by which the scale shrinks after a gradient that is not finite. Default 0.5. */
  readonly backoffFactor?: number;
  /** The number of steps with finite gradients after which the scale grows. Default 2,000. */
  readonly growthInterval?: number;
  /**
   * The number of steps with gradients that are not finite, since the scale last grew, after which
   * it shrinks. Default 1.
   */
  readonly hysteresis?: number;
  /** The smallest scale. Default 1. */
  readonly minimum?: number;
}

const lossScale = z.object({
  dynamic: z.boolean().default(true),
  initial: z.number().positive().default(65_536),
  growthFactor: z.number().gt(1).default(2),
  backoffFactor: z.number().gt(0).lt(1).default(0.5),
  growthInterval: z.number().int().positive().default(2_000),
  hysteresis: z.number().int().positive().default(1),
  minimum: z.number().positive().default(1),
});

const float8 = z
  .object({
    recipe: z.enum(['tensorwise', 'rowwise']).default('tensorwise'),
    gradients: z.enum(['e4m3', 'e5m2']).optional(),
    powerOfTwoScales: z.boolean().optional(),
    scaling: z.enum(['current', 'delayed']).default('current'),
    amaxHistory: z.number().int().positive().max(65_536).default(16),
  })
  .transform(({ recipe, gradients, powerOfTwoScales, ...others }) => ({
    ...others,
    recipe,
    gradients: gradients ?? (recipe === 'rowwise' ? 'e4m3' : 'e5m2'),
    powerOfTwoScales: powerOfTwoScales ?? recipe === 'rowwise',
  }));
const FLOAT8_KEYS = ['recipe', 'gradients', 'powerOfTwoScales', 'scaling', 'amaxHistory'];

export type ResolvedFloat8Options = Readonly<z.infer<typeof float8>>;

export type ResolvedLossScaleOptions = Readonly<z.infer<typeof lossScale>>;

const schema = z.object({
  lossScale: lossScale.prefault({}),
  lower: z.array(z.string()).default([]),
  float32: z.array(z.string()).default([]),
  float32Precision: z.enum(['ieee', 'tf32', 'bf16']).optional(),
  fp8: float8.prefault({}),
  exclude: z.array(z.string().min(1)).optional(),
});

export type ResolvedAmpOptions = Readonly<z.infer<typeof schema>>;

/** Options with their defaults. @throws AccError `ACC_UNKNOWN_OPTION`, `ACC_INVALID_OPTION`. */
export function resolveAmpOptions(options: AmpOptions = {}): ResolvedAmpOptions {
  const value: unknown = (options as AmpOptions | null)?.lossScale;
  if (isRecord(value)) {
    checkKeys('amp.lossScale', value, Object.keys(lossScale.shape));
    if (value.dynamic === false) refuseAdapting(value);
  }
  const ofFloat8: unknown = (options as AmpOptions | null)?.fp8;
  if (isRecord(ofFloat8)) {
    checkKeys('amp.fp8', ofFloat8, FLOAT8_KEYS);
    refuseHistoriesOfRows(ofFloat8);
  }
  return withStartAboveMinimum(parseOptions('amp', schema, options));
}

/** Rows change from step to step, so only whole tensors have histories. */
function refuseHistoriesOfRows({ recipe, scaling }: Float8Options): void {
  if (scaling !== 'delayed' || recipe !== 'rowwise') return;
  throw new AccError(
    'ACC_INVALID_OPTION',
    "amp.fp8.scaling: 'delayed' needs one scale for a tensor, and the recipe is 'rowwise'.",
    {
      help: "Give recipe: 'tensorwise', or scaling: 'current'.",
      details: { path: ['amp', 'fp8', 'scaling'] },
    },
  );
}

/** A static scale takes no options that say how it changes. */
function refuseAdapting(options: object): void {
  const name = Object.entries(options).find(
    ([key, value]) => value !== undefined && !['dynamic', 'initial'].includes(key),
  )?.[0];
  if (!name) return;
  throw new AccError(
    'ACC_INVALID_OPTION',
    `amp.lossScale.${name} has no effect: with dynamic: false, the scale never changes.`,
    { help: `Leave out ${name}, or dynamic: false.`, details: { path: ['amp', 'lossScale', name] } },
  );
}

/** With an initial scale below the minimum, the first overflow would increase the scale. */
function withStartAboveMinimum(resolved: ResolvedAmpOptions): ResolvedAmpOptions {
  const { dynamic, initial, minimum } = resolved.lossScale;
  if (initial >= minimum || !dynamic) return resolved;
  throw new AccError(
    'ACC_INVALID_OPTION',
    `amp.lossScale.initial: ${initial} is below lossScale.minimum, which is ${minimum}.`,
    { help: 'Give a larger initial scale, or a smaller minimum.', details: { initial, minimum } },
  );
}

/**
 * The op lists with the additional kernels of the options. An added kernel is removed from its
 * previous list.
 */
export function listsWith({ lower, float32 }: ResolvedAmpOptions): OpLists {
  const added = new Set([...lower, ...float32]);
  const others = (names: readonly string[]) => names.filter((name) => !added.has(name));
  return {
    lower: [...others(OP_LISTS.lower), ...lower],
    float32: [...others(OP_LISTS.float32), ...float32],
    asGiven: others(OP_LISTS.asGiven),
  };
}
