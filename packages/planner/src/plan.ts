import { AccError, parseOptions } from '@acc/contract';
import type { Cluster } from './cluster.js';
import type { ComputePrecision } from './hardware/devices.js';
import type { PipelineShape, ScheduleName } from './schedule/action.js';
import { hasTooManyChunks, hasUnevenGroups } from './schedule/schedule.js';
import { requireDivides, type Model } from './model.js';
import { planSchema, type PlanOptions } from './options.js';

/** The options with all defaults, after every check. */
export interface Plan {
  readonly mesh: Readonly<Record<'data' | 'tensor' | 'pipeline' | 'context' | 'fsdp', number>>;
  readonly stage: 0 | 1;
  readonly microBatch: number;
  readonly globalBatch: number;
  /** Sequences of a step on each device. */
  readonly batchOfDevice: number;
  /** Micro-batches of a step on each device. The last one may be smaller. */
  readonly microBatches: number;
  readonly chunks: number;
  readonly recompute: 'none' | 'selective' | 'full';
  readonly sequenceParallel: boolean;
  readonly flashAttention: boolean;
  readonly precision: ComputePrecision;
  readonly schedule: ScheduleName;
  readonly fused: boolean;
  readonly scatterGather: boolean;
}

/** The options with defaults, before numbers are compared with each other. */
type CheckedPlan = ReturnType<typeof checkedPlan>;

/** @throws AccError `ACC_UNKNOWN_OPTION`, `ACC_INVALID_OPTION`. */
export const checkedPlan = (given: PlanOptions) => parseOptions('plan', planSchema, given);

/** @throws AccError `ACC_PLAN_SHAPE` if numbers do not fit each other. */
export function planOf(plan: CheckedPlan, model: Model, cluster: Cluster): Plan {
  const mesh = meshOf(plan.mesh, cluster.devices);
  requireModelFits(model, mesh, plan.chunks);
  requireDivides('plan.globalBatch', plan.globalBatch, 'mesh.data × mesh.fsdp', mesh.data * mesh.fsdp);
  const batchOfDevice = plan.globalBatch / (mesh.data * mesh.fsdp);
  const microBatches = Math.ceil(batchOfDevice / plan.microBatch);
  if (mesh.pipeline > 1) {
    requireDivides('the batch of a device', batchOfDevice, 'plan.microBatch', plan.microBatch);
  }
  const schedule = plan.schedule ?? (plan.chunks > 1 ? 'interleaved' : '1f1b');
  requireScheduleFits(schedule, { ranks: mesh.pipeline, chunks: plan.chunks, microBatches }, plan);
  const stage = plan.stage ?? (plan.flashAttention ? 1 : 0);
  const precision = precisionOf(plan.precision, cluster);
  return { ...plan, mesh, stage, batchOfDevice, microBatches, schedule, precision };
}

function meshOf(
  { data, ...axes }: Omit<Plan['mesh'], 'data'> & { readonly data?: number | undefined },
  devices: number,
): Plan['mesh'] {
  const others = axes.tensor * axes.pipeline * axes.context * axes.fsdp;
  const size = data ?? devices / others;
  if (size * others === devices && Number.isInteger(size)) return { data: size, ...axes };
  const product = data === undefined ? `a multiple of ${others}` : `${size * others}`;
  throw new AccError(
    'ACC_PLAN_SHAPE',
    `The axes of plan.mesh need ${product} devices; the cluster has ${devices}.`,
    {
      help: 'Change cluster.devices, or the sizes of plan.mesh, whose product is the number of devices.',
      details: { devices, mesh: { data, ...axes } },
    },
  );
}

function requireModelFits(
  { heads, kvHeads, intermediate, sequence, layers }: Model,
  { tensor, context, pipeline }: Plan['mesh'],
  chunks: number,
): void {
  requireDivides('model.heads', heads, 'mesh.tensor', tensor);
  // Ranks of `tensor` beyond the number of these heads hold copies of them.
  if (tensor < kvHeads) requireDivides('model.kvHeads', kvHeads, 'mesh.tensor', tensor);
  requireDivides('model.ffn', intermediate, 'mesh.tensor', tensor);
  requireDivides('model.sequence', sequence, 'mesh.context', context);
  if (layers >= pipeline * chunks) return;
  throw new AccError(
    'ACC_PLAN_SHAPE',
    `The pipeline has ${pipeline * chunks} stages (mesh.pipeline × chunks), but the model has ${layers} layers.`,
    { help: `Give at most ${layers} stages.`, details: { layers, pipeline, chunks } },
  );
}

/** @throws AccError `ACC_PLAN_SHAPE` for numbers that the schedule cannot have. */
function requireScheduleFits(
  schedule: ScheduleName,
  shape: PipelineShape,
  { globalBatch, microBatch }: Pick<Plan, 'globalBatch' | 'microBatch'>,
): void {
  const { ranks, chunks, microBatches } = shape;
  if (hasTooManyChunks(schedule, shape)) {
    throw new AccError(
      'ACC_PLAN_SHAPE',
      `The schedule '${schedule}' has one chunk on each device; plan.chunks is ${chunks}.`,
      { help: "Give plan.chunks as 1, or plan.schedule as 'interleaved'.", details: { schedule, chunks } },
    );
  }
  if (!hasUnevenGroups(shape)) return;
  throw new AccError(
    'ACC_PLAN_SHAPE',
    `The schedule 'interleaved' takes micro-batches in groups of ${ranks} (mesh.pipeline). With plan.globalBatch ${globalBatch} and plan.microBatch ${microBatch} a device has ${microBatches}.`,
    {
      help: `Change plan.globalBatch or plan.microBatch, so that the micro-batches of a device are a multiple of ${ranks} or fewer than ${ranks}, or give plan.chunks as 1.`,
      details: { globalBatch, microBatch, microBatches, pipeline: ranks },
    },
  );
}

function precisionOf(given: ComputePrecision | undefined, { device }: Cluster): ComputePrecision {
  const precision = given ?? (device.peakFlops.bf16 === undefined ? 'fp16' : 'bf16');
  if (device.peakFlops[precision] !== undefined) return precision;
  throw new AccError('ACC_PLAN_SHAPE', `${device.name} does not compute in ${precision}.`, {
    help: `Give plan.precision as one of ${Object.keys(device.peakFlops).join(', ')}.`,
    details: { precision },
  });
}
