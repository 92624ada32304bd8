import { AccError, parseOptions, type KernelLayer } from '@acc/contract';
import type { Variable } from '@tensorflow/tfjs-core';
import * as z from 'zod';
import {
  offloadSchema,
  isHere,
  warnIsHere,
  resolveOffload,
  type OffloadOptions,
  type ResolvedOffload,
} from './offload/index.js';

/** A number of the ZeRO paper, or a name of PyTorch's FSDP. */
export type FsdpStage = 1 | 2 | 3 | 'NO_SHARD' | 'SHARD_GRAD_OP' | 'FULL_SHARD' | 'HYBRID_SHARD';

/** A floating-point type, by the names of `mixedPrecision`. */
export type FsdpDtype = 'float32' | 'bf16' | 'fp16';

/** The types in which parts of a step compute and travel. Weights and optimizer state are float32. */
export interface FsdpMixedPrecision {
  /**
   * The type of products, as by the Accelerator's `mixedPrecision`. In stage 3 the steps also gather
   * parameters in this type, so all their operators see rounded parameters. Default: that of the
   * Accelerator; parameters are then gathered in float32. Refused with `mixedPrecision` `'int8'` and `'fp8'`.
   */
  readonly param?: FsdpDtype;
  /** The type in which gradients travel and are summed over ranks. Default `float32`. */
  readonly reduce?: FsdpDtype;
  /**
   * The type to which weights that no gradient changes are rounded after each step, such as the
   * moving statistics of batch normalization. Default `float32`: they are not rounded.
   */
  readonly buffer?: FsdpDtype;
}

/** Layers with at least so many parameters are units. */
export interface WrapBySize {
  readonly minParams: number;
  /**
   * Layers that are never units by themselves: names, class names, or globs, as in `parallelize`. `*`
   * stands for any characters but `/`, `**` for any.
   */
  readonly exclude?: readonly string[];
}

export interface FsdpOptions {
  /**
   * The tensors that are divided over ranks. 1: optimizer state. 2 (`SHARD_GRAD_OP`): gradients as
   * well. 3 (`FULL_SHARD`): parameters as well. `HYBRID_SHARD`: as stage 3, over the ranks
   * of each host, or over those of `mesh.fsdp`; every host then has all parameters, and gradients
   * are summed over hosts. `NO_SHARD`: nothing, which is the strategy `ddp`. Default 3.
   */
  readonly stage?: FsdpStage;
  /**
   * The parameters that are gathered together, as a unit. `layer` (default): those of each layer;
   * plain variables are taken one by one. By size; by a function that says whether a layer is a
   * unit; or lists of variables. Trained variables that are in no unit form one more.
   */
  readonly wrap?: 'layer' | WrapBySize | ((layer: object) => boolean) | readonly (readonly Variable[])[];
  /**
   * With `wrap: 'layer'`, units that follow each other are joined up to this size, in bytes. Default
   * 4 MiB in stage 3, else 25 MiB.
   */
  readonly bucketBytes?: number;
  /**
   * Stage 3: when backward starts to gather the next unit. `pre` (default): before the gradients of
   * the current unit are computed. `post`: afterwards, which needs less memory. `none`: when it is
   * used.
   */
  readonly backwardPrefetch?: 'pre' | 'post' | 'none';
  /**
   * Stage 3: whether a unit is released after its use in forward and gathered again in backward.
   * False keeps it in between: less traffic, more memory. Default true.
   */
  readonly reshardAfterForward?: boolean;
  /** Stage 3: true (default) gathers at most one unit ahead of its use, false up to three. */
  readonly limitAllGathers?: boolean;
  /** 16-bit types. Default: those of the Accelerator's `mixedPrecision`. */
  readonly mixedPrecision?: FsdpMixedPrecision;
  /** The tensors that lie in files, or in host memory, between their uses. Default: nothing. */
  readonly offload?: OffloadOptions;
  /** True: `offload: { params: true, optimizer: true, to: 'cpu' }`. Default false. */
  readonly cpuOffload?: boolean;
}

const dtype = z.enum(['float32', 'bf16', 'fp16']).optional();

const schema = z.object({
  stage: z
    .enum(['NO_SHARD', 'SHARD_GRAD_OP', 'FULL_SHARD', 'HYBRID_SHARD'])
    .or(z.literal([1, 2, 3]))
    .default(3),
  wrap: z
    .custom<NonNullable<FsdpOptions['wrap']>>(isWrap, {
      error: "expected 'layer', { minParams, exclude? }, a function or lists of variables",
    })
    .default('layer'),
  bucketBytes: z.number().int().positive().optional(),
  backwardPrefetch: z.enum(['pre', 'post', 'none']).optional(),
  reshardAfterForward: z.boolean().optional(),
  limitAllGathers: z.boolean().optional(),
  mixedPrecision: z.strictObject({ param: dtype, reduce: dtype, buffer: dtype }).default({}),
  offload: offloadSchema.optional(),
  cpuOffload: z.boolean().optional(),
});

const STAGES = { NO_SHARD: 0, SHARD_GRAD_OP: 2, FULL_SHARD: 3, HYBRID_SHARD: 3 } as const;
const ONLY_STAGE_3 = ['backwardPrefetch', 'reshardAfterForward', 'limitAllGathers'] as const;
const MIB = 1024 * 1024;

export interface ResolvedFsdpOptions extends Required<Omit<FsdpOptions, 'stage' | 'offload' | 'cpuOffload'>> {
  readonly offload: ResolvedOffload | undefined;
  /** 0: nothing is divided. */
  readonly stage: 0 | 1 | 2 | 3;
  /** Whether parameters are divided over some ranks, and the same on others. */
  readonly isHybrid: boolean;
}

/**
 * Options with their defaults.
 *
 * @throws AccError `ACC_UNKNOWN_OPTION`, `ACC_INVALID_OPTION`, also for an option that has no effect
 * with the others.
 */
export function resolveFsdpOptions(options: FsdpOptions = {}): ResolvedFsdpOptions {
  const { stage: named, ...parsed } = parseOptions('fsdp', schema, options);
  const stage = typeof named === 'string' ? STAGES[named] : named;
  const { wrap } = parsed;
  if (stage === 0) requireAlone(options);
  const idle = stage === 3 ? undefined : ONLY_STAGE_3.find((name) => options[name] !== undefined);
  if (idle) throw withoutEffect(idle, `with stage ${JSON.stringify(named)}`, 'It is for stage 3.');
  if (options.bucketBytes !== undefined && wrap !== 'layer')
    throw withoutEffect('bucketBytes', 'beside wrap', "It joins the units of wrap: 'layer'.");
  return {
    wrap,
    stage,
    bucketBytes: parsed.bucketBytes ?? (stage === 3 ? 4 * MIB : 25 * MIB),
    backwardPrefetch: parsed.backwardPrefetch ?? 'pre',
    reshardAfterForward: parsed.reshardAfterForward ?? true,
    limitAllGathers: parsed.limitAllGathers ?? true,
    isHybrid: named === 'HYBRID_SHARD',
    mixedPrecision: parsed.mixedPrecision,
    offload: resolveOffload(parsed, stage),
  };
}

/** The options that must be the same on every rank. Units are compared by themselves. */
export function comparedOptions({ wrap, offload, ...others }: ResolvedFsdpOptions): Record<string, unknown> {
  return {
    ...others,
    // Hosts may have different folders.
    offload: offload && { ...offload, to: offload.to === 'cpu' ? 'cpu' : 'a folder' },
    wrap: typeof wrap === 'function' ? 'a function' : Array.isArray(wrap) ? 'lists' : wrap,
  };
}

function withoutEffect(name: string, where: string, help: string): AccError {
  return new AccError('ACC_INVALID_OPTION', `fsdp.${name} has no effect ${where}.`, { help });
}

function isWrap(value: unknown): boolean {
  if (value === 'layer' || typeof value === 'function') return true;
  if (Array.isArray(value)) return value.every((unit) => Array.isArray(unit) && unit.length > 0);
  return wrapBySize.safeParse(value).success;
}

const wrapBySize = z.strictObject({
  minParams: z.number().int().positive(),
  exclude: z.array(z.string().min(1)).optional(),
});

/** @throws AccError `ACC_INVALID_OPTION` for options beside `NO_SHARD`. */
function requireAlone(options: FsdpOptions): void {
  const { stage: _, mixedPrecision: __, cpuOffload, ...others } = options;
  const given = { ...others, cpuOffload: cpuOffload || undefined };
  const other = Object.keys(given).find((name) => given[name as 'wrap'] !== undefined);
  if (other) throw withoutEffect(other, "with stage 'NO_SHARD'", 'Nothing is sharded there.');
  const { buffer = 'float32' } = options.mixedPrecision ?? {};
  if (buffer !== 'float32')
    throw withoutEffect('mixedPrecision.buffer', "with stage 'NO_SHARD'", 'It is for stages that shard.');
}

/**
 * Whether one process alone uses fsdp: it has nothing to divide, but may round or keep files.
 *
 * @throws AccError as {@link resolveFsdpOptions}. `ACC_STRATEGY_CANNOT` for offload of a GPU to files.
 */
export function isForOne(options: FsdpOptions | undefined, kernels: KernelLayer): boolean {
  const { offload, mixedPrecision } = resolveFsdpOptions(options);
  if (offload && !isHere(offload, kernels)) return true;
  const { buffer = 'float32' } = mixedPrecision;
  if (buffer !== 'float32') return true;
  if (offload) warnIsHere();
  return false;
}
