import * as z from 'zod';
import {
  count,
  countUpTo,
  planSchema,
  type ClusterOptions,
  type ModelSizesOptions,
  type PlanOptions,
} from '../options.js';

/** Choices of the user, which every plan keeps. What is left out is searched. */
export interface PlanConstraints {
  /** Sizes of axes that are fixed. */
  readonly mesh?: PlanOptions['mesh'];
  readonly stage?: 0 | 1 | 2 | 3;
  /** Null: nothing. Default: nothing, because `Accelerator.create` refuses `fsdp.offload` on GPUs. */
  readonly offload?: PlanOptions['offload'];
  readonly microBatch?: number;
  /** As in a plan: micro-batches of a step of a device without a pipeline, and 1 with one. */
  readonly accumulation?: number;
  /** Default: 1, and 2 for interleaved schedules: `@acc/core` makes no more by itself. */
  readonly chunks?: number;
  /** `selective` is not searched: attention in one kernel keeps no scores. */
  readonly recompute?: 'none' | 'selective' | 'full';
  readonly checkpointEvery?: number | null;
  /** Default: true with an axis `tensor`. */
  readonly sequenceParallel?: boolean;
  /** Default true, as attention of `@acc/core`. */
  readonly flashAttention?: boolean;
  /** fp8 is not searched, because it changes the numbers of products most. */
  readonly precision?: PlanOptions['precision'];
  readonly schedule?: PlanOptions['schedule'];
}

export interface SearchOptions {
  /** Sizes, the name of one of `MODELS`, or the path of a config.json of the Hub or of its folder. */
  readonly model: ModelSizesOptions | string;
  /** A preset with `devices`, or the path of a JSON file with the same fields. */
  readonly cluster: ClusterOptions | string;
  /** Sequences of a step, of all devices. */
  readonly globalBatch: number;
  /** Tokens of a sequence. Default: those of `model`. */
  readonly sequence?: number;
  readonly constraints?: PlanConstraints;
  /** Plans to give, the fastest first. Default 6. */
  readonly count?: number;
  /**
   * The part of a device's memory that a plan may take. Default 0.92: above that, a run is near the end of
   * its memory, because the libraries' own and freed blocks come on top.
   */
  readonly memoryFraction?: number;
}

const size = count.optional();
const { stage, offload, accumulation, checkpointEvery, precision, schedule } = planSchema.shape;

const constraintsSchema = z.strictObject({
  mesh: z.strictObject({ data: size, tensor: size, pipeline: size, context: size, fsdp: size }).default({}),
  ...{ stage, offload, accumulation, checkpointEvery, precision, schedule },
  ...{ microBatch: size, chunks: size },
  recompute: planSchema.shape.recompute,
  ...{ sequenceParallel: z.boolean().optional(), flashAttention: z.boolean().default(true) },
});

export const searchSchema = z.object({
  ...{ model: z.custom<SearchOptions['model']>(), cluster: z.custom<SearchOptions['cluster']>() },
  globalBatch: count,
  sequence: size,
  constraints: constraintsSchema.prefault({}),
  count: countUpTo(1000).default(6),
  memoryFraction: z.number().positive().max(1).default(0.92),
});

/** The constraints with defaults. */
export type Kept = z.infer<typeof constraintsSchema>;
