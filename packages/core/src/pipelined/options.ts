// Stays here, with the schema of all options: a page has it, and does not load `@acc/pipeline`.
import { OPTION_HELP } from '#platform/requirements';
import { parseOptions } from '@acc/contract';
import * as z from 'zod';

/** The names of schedules, as in `@acc/pipeline`. */
const SCHEDULES = ['gpipe', '1f1b', 'interleaved', 'zeroBubble'] as const;

/** How a model is trained on the ranks of the mesh axis `pipeline`. */
export interface PipelineOptions {
  /** The equal parts of a rank's batch along dim 0. Default: the number of stages. */
  readonly microBatches?: number;
  /**
   * The order of forward and backward passes. `gpipe`: all forward passes first. `1f1b` (default):
   * backward as early as possible, with fewer activations in memory. `interleaved`: as 1f1b, with
   * several stages a rank. `zeroBubble`: as 1f1b, with the gradients of weights in its gaps.
   */
  readonly schedule?: (typeof SCHEDULES)[number];
  /**
   * The names of the layers of each stage, in order. Default: stages that take about the same time,
   * as measured.
   */
  readonly stages?: readonly (readonly string[])[];
}

export const pipelineSchema = z.object({
  microBatches: z.number().int().positive().optional(),
  schedule: z.enum(SCHEDULES).optional(),
  stages: z
    .array(z.array(z.string().min(1)))
    .min(1)
    .optional(),
});

export type ResolvedPipelineOptions = Readonly<z.infer<typeof pipelineSchema>>;

/** The options of one model; those that are absent come from the Accelerator. */
export function resolvePipelineOptions(
  options: PipelineOptions,
  defaults: ResolvedPipelineOptions,
): ResolvedPipelineOptions & { readonly schedule: (typeof SCHEDULES)[number] } {
  const own = parseOptions('pipelined', pipelineSchema, options, { help: OPTION_HELP });
  const { schedule = '1f1b', ...others } = { ...defaults, ...own };
  return { schedule, ...others };
}
