import { AccError, parseOptions } from '@acc/contract';
import type { Cluster } from './cluster.js';
import type { ComputePrecision } from './hardware/devices.js';
import type { PipelineShape, ScheduleName } from './schedule/action.js';
import { hasTooManyChunks, hasUnevenGroups } from './schedule/schedule.js';
import { requireDivides, type Model } from './model.js';
import { planSchema, type PlanOptions } from './options.js';

export interface Offload {
  readonly params: boolean;
  readonly optimizer: boolean;
  readonly to: 'cpu' | 'nvme';
}

/** The options with all defaults, after every check. */
export interface Plan {
  readonly mesh: Readonly<Record<'data' | 'tensor' | 'pipeline' | 'context' | 'fsdp', number>>;
  /** The stage of ZeRO over `data` and `context`. 3: those of `fsdp` divide all, and these nothing. */
  readonly stage: 0 | 1 | 2 | 3;
  readonly offload: Offload | undefined;
  readonly microBatch: number;
  readonly globalBatch: number;
  /** Sequences of a step on each device. */
  readonly batchOfDevice: number;
  /** Micro-batches of a step on each device. The last one may be smaller. */
  readonly microBatches: number;
  readonly chunks: number;
  readonly recompute: 'none' | 'selective' | 'full';
  /** Layers of a section of activation checkpointing. */
  readonly checkpointEvery: number;
  readonly sequenceParallel: boolean;
  readonly flashAttention: boolean;
  readonly precision: ComputePrecision;
  readonly schedule: ScheduleName;
  readonly fused: boolean;
  readonly scatterGather: boolean;
}

/** The options with defaults, before numbers are compared with each other. */
export type CheckedPlan = ReturnType<typeof checkedPlan>;

/** @throws AccError `ACC_UNKNOWN_OPTION`, `ACC_INVALID_OPTION`. */
export const checkedPlan = (given: PlanOptions) => parseOptions('plan', planSchema, given);

/** @throws AccError `ACC_PLAN_SHAPE` if numbers do not fit each other. */
export function planOf(plan: CheckedPlan, model: Model, cluster: Cluster): Plan {
  const mesh = meshOf(plan.mesh, cluster.devices);
  requireModelFits(model, mesh, plan);
  requireDivides('plan.globalBatch', plan.globalBatch, 'mesh.data × mesh.fsdp', mesh.data * mesh.fsdp);
  const batchOfDevice = plan.globalBatch / (mesh.data * mesh.fsdp);
  const microBatches = Math.ceil(batchOfDevice / plan.microBatch);
  if (mesh.pipeline > 1) {
    requireDivides('the batch of a device', batchOfDevice, 'plan.microBatch', plan.microBatch);
  }
  const schedule = plan.schedule ?? (plan.chunks > 1 ? 'interleaved' : '1f1b');
  requireScheduleFits(schedule, { ranks: mesh.pipeline, chunks: plan.chunks, microBatches }, plan);
  requireAccumulation(plan.accumulation, mesh.pipeline > 1 ? 1 : microBatches);
  return {
    ...plan,
    ...{ mesh, batchOfDevice, microBatches, schedule },
    stage: stageOf(plan, mesh),
    offload: offloadOf(plan.offload, mesh, cluster),
    precision: precisionOf(plan.precision, cluster),
    ...recomputeOf(plan, model.layers / (mesh.pipeline * plan.chunks)),
  };
}

/** @throws AccError `ACC_PLAN_SHAPE` for stage 3 without its axis. */
function stageOf({ stage, flashAttention }: CheckedPlan, { fsdp }: Plan['mesh']): Plan['stage'] {
  if (fsdp > 1) return 3;
  if (stage !== 3) return stage ?? (flashAttention ? 1 : 0);
  throw new AccError('ACC_PLAN_SHAPE', 'plan.stage is 3, and plan.mesh has no axis fsdp.', {
    help: 'Give plan.mesh.fsdp as the number of devices that share the parameters, or plan.stage as 0, 1 or 2.',
    details: { stage, fsdp },
  });
}

/** @throws AccError `ACC_PLAN_SHAPE` for what offload cannot do. */
function offloadOf(given: CheckedPlan['offload'], mesh: Plan['mesh'], cluster: Cluster): Offload | undefined {
  if (!given || (!given.params && !given.optimizer)) return undefined;
  const refused = (message: string, help: string) =>
    new AccError('ACC_PLAN_SHAPE', message, { help, details: { offload: given } });
  if (mesh.pipeline > 1)
    throw refused(
      'plan.offload does not go with plan.mesh.pipeline: the values of a stage stay in memory.',
      'Leave one of them out.',
    );
  if (given.params && mesh.fsdp === 1 && cluster.devices > 1)
    throw refused(
      'plan.offload.params moves shards of parameters, and plan.mesh has no axis fsdp.',
      'Give plan.mesh.fsdp, or offload the optimizer only.',
    );
  if (given.to === 'nvme' && cluster.nvmeBytesPerSecond === null)
    throw refused(
      'plan.offload.to is nvme, and the hosts of the cluster have no disks.',
      "Give plan.offload.to as 'cpu', or cluster.nvmeBytesPerSecond.",
    );
  return given;
}

/** @throws AccError `ACC_PLAN_SHAPE`. */
function requireAccumulation(given: number | undefined, expected: number): void {
  if (given === undefined || given === expected) return;
  throw new AccError(
    'ACC_PLAN_SHAPE',
    `plan.accumulation is ${given}; by globalBatch, microBatch and mesh it is ${expected}.`,
    { help: 'Leave it out, or change one of the others.', details: { given, expected } },
  );
}

/** @throws AccError `ACC_PLAN_SHAPE` for sections with another kind of recomputation, or larger than a stage. */
function recomputeOf(plan: CheckedPlan, layers: number) {
  const { recompute, checkpointEvery } = plan;
  if (checkpointEvery == null) return { recompute: recompute ?? ('none' as const), checkpointEvery: 1 };
  requireFullRecompute('plan', plan);
  if (checkpointEvery <= Math.max(1, layers)) return { recompute: 'full' as const, checkpointEvery };
  throw new AccError(
    'ACC_PLAN_SHAPE',
    `plan.checkpointEvery (${checkpointEvery}) is more than the ${layers} layers of a stage.`,
    {
      help: `Give at most ${Math.max(1, Math.floor(layers))}.`,
      details: { checkpointEvery, recompute },
    },
  );
}

/** @throws AccError `ACC_PLAN_SHAPE` for sections with another kind of recomputation. */
export function requireFullRecompute(
  where: string,
  { recompute, checkpointEvery }: Pick<CheckedPlan, 'recompute' | 'checkpointEvery'>,
): void {
  if (checkpointEvery == null || recompute === undefined || recompute === 'full') return;
  throw new AccError(
    'ACC_PLAN_SHAPE',
    `${where}.checkpointEvery is for ${where}.recompute 'full', which is '${recompute}'.`,
    { help: 'Leave one of them out.', details: { checkpointEvery, recompute } },
  );
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
  { chunks, sequenceParallel }: Pick<CheckedPlan, 'chunks' | 'sequenceParallel'>,
): void {
  requireDivides('model.heads', heads, 'mesh.tensor', tensor);
  requireDivides('model.kvHeads', kvHeads, 'mesh.tensor', tensor);
  requireDivides('model.ffn', intermediate, 'mesh.tensor', tensor);
  requireDivides('model.sequence', sequence, 'mesh.context', context);
  if (sequenceParallel) requireDivides('the tokens of a device', sequence / context, 'mesh.tensor', tensor);
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
  if (hasTooManyPasses(shape)) throw tooManyPasses(shape);
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

const MOST_PASSES = 1_000_000;

/** Whether the table of a pipeline would be too long to simulate. */
export const hasTooManyPasses = ({ ranks, chunks, microBatches }: PipelineShape): boolean =>
  ranks > 1 && ranks * chunks * microBatches > MOST_PASSES;

const tooManyPasses = ({ ranks, microBatches }: PipelineShape): AccError =>
  new AccError(
    'ACC_PLAN_SHAPE',
    `${microBatches} micro-batches on ${ranks} ranks of a pipeline are more than ${MOST_PASSES} passes, which are not simulated.`,
    { help: 'Give a larger plan.microBatch.', details: { ranks, microBatches } },
  );

/** The default is the first that the device has. */
export const PRECISIONS = ['bf16', 'fp16', 'tf32', 'float32'] as const;

function precisionOf(given: ComputePrecision | undefined, { device }: Cluster): ComputePrecision {
  const precision = given ?? PRECISIONS.find((each) => device.peakFlops[each] !== undefined)!;
  if (device.peakFlops[precision] !== undefined) return precision;
  throw new AccError('ACC_PLAN_SHAPE', `${device.name} does not compute in ${precision}.`, {
    help: `Give plan.precision as one of ${Object.keys(device.peakFlops).join(', ')}.`,
    details: { precision },
  });
}
