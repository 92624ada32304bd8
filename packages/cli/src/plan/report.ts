import {
  findPlans,
  predict,
  trainingCost,
  type FoundPlans,
  type PlannedRun,
  type SearchOptions,
  type TrainingCost,
} from '@acc/planner';
import { AccError } from '@acc/contract';
import { withFlags } from './flags.js';
import { searchOptions, type PlanFlags } from './options.js';

export interface PlanReport extends FoundPlans {
  readonly model: string;
  readonly cluster: string;
  readonly devices: number;
  readonly globalBatch: number;
  readonly sequence: number;
  readonly cost?: TrainingCost;
}

/** @param model A name or a path; undefined: `flags` has sizes. */
export function planned(model: string | undefined, flags: PlanFlags): PlanReport {
  const options = searchOptions(model, flags);
  requireTarget(flags);
  requireOutput(flags);
  const found = withFlags(() => findPlans(options));
  const { plan } = found.plans[0]!;
  const { data, fsdp, tensor, context, pipeline } = plan.mesh;
  const devices = data * fsdp * tensor * context * pipeline;
  return {
    ...{ model: model ?? 'sizes', cluster: flags.cluster, devices },
    ...{ globalBatch: plan.globalBatch, sequence: plan.sequence, ...found },
    ...(flags.targetTokens !== undefined && { cost: costOf(found.plans[0]!, options, flags, devices) }),
  };
}

/** The plans, or with `--details` all of the report. */
export const jsonOf = (report: PlanReport, { details }: PlanFlags): unknown =>
  details ? report : report.plans;

/** @throws AccError `ACC_MISSING_OPTION` if only one of the two that describe a target is given. */
function requireTarget({ targetTokens, criticalBatch, price, watts }: PlanFlags): void {
  if (targetTokens !== undefined && criticalBatch !== undefined) return;
  if ([targetTokens, criticalBatch, price, watts].every((value) => value === undefined)) return;
  throw new AccError(
    'ACC_MISSING_OPTION',
    'The cost of a training needs --target-tokens and --critical-batch.',
    {
      help: 'gradientNoiseScale of @acc/core measures the critical batch.',
    },
  );
}

/** @throws AccError `ACC_USAGE` for what the output would not have. */
function requireOutput({ json, details, targetTokens }: PlanFlags): void {
  if (details && !json)
    throw new AccError('ACC_USAGE', '--details is for plans with --json.', { help: 'Add --json.' });
  if (json && !details && targetTokens !== undefined)
    throw new AccError('ACC_USAGE', '--json alone has no cost of a training.', {
      help: 'Add --details, or leave out --target-tokens and --critical-batch.',
    });
}

/** The same plan with a larger batch tells how a step grows with it. */
function costOf(
  { plan, stepSeconds }: PlannedRun,
  { model, cluster }: SearchOptions,
  { targetTokens, criticalBatch, price, watts }: PlanFlags,
  devices: number,
): TrainingCost {
  const { accumulation: _, globalBatch, ...rest } = plan;
  // Interleaved schedules take micro-batches in groups of the ranks of a pipeline.
  const batch = globalBatch * (plan.chunks > 1 ? Math.max(2, plan.mesh.pipeline) : 2);
  const { data, fsdp, pipeline } = plan.mesh;
  const multipleOf = data * fsdp * plan.microBatch * (plan.chunks > 1 ? pipeline : 1);
  const larger = predict({ model, cluster, plan: { ...rest, globalBatch: batch } });
  return trainingCost(
    { batch: globalBatch, seconds: stepSeconds },
    { batch, seconds: larger.stepSeconds },
    {
      ...{ leastSamples: targetTokens! / plan.sequence, criticalBatch: criticalBatch! },
      ...{ devices, multipleOf },
      ...(price !== undefined && { pricePerHour: price }),
      ...(watts !== undefined && { watts }),
    },
  );
}
