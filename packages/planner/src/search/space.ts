import { counted } from '@acc/contract';
import { calibrationOf, type Cluster } from '../cluster.js';
import type { Model } from '../model.js';
import { hasTooManyPasses, PRECISIONS, type CheckedPlan, type Plan } from '../plan.js';
import type { PipelineShape, ScheduleName } from '../schedule/action.js';
import { hasTooManyChunks, hasUnevenGroups } from '../schedule/schedule.js';
import type { Kept } from './options.js';

/** All that a search depends on. */
export interface Space {
  readonly model: Model;
  readonly cluster: Cluster;
  readonly globalBatch: number;
  readonly kept: Kept;
  /** Says why a part of the space holds no plan. */
  readonly refuse: (reason: () => string) => void;
}

/** A plan without the choices that trade time for memory: precision and recomputation. */
export type Base = Omit<CheckedPlan, 'precision' | 'recompute' | 'checkpointEvery' | 'mesh'> & {
  readonly mesh: Plan['mesh'];
};

/**
 * Every layout of devices, with every stage and schedule that goes with it: for each of these, plans by
 * their micro-batches, the smallest first. A plan of larger micro-batches needs no less memory, but for
 * those of {@link mayNeedLess}.
 */
export function* basesOf(space: Space): Generator<readonly Base[]> {
  for (const mesh of meshesOf(space))
    for (const stage of stagesOf(mesh, space))
      for (const order of ordersOf(mesh, space)) {
        const microBatches = microBatchesOf(mesh, order, space);
        yield microBatches.map((microBatch) => baseOf(space, mesh, { microBatch, stage, ...order }));
      }
}

/** Whether a plan may need less memory than those of smaller micro-batches: offload takes gradients of one only. */
export const mayNeedLess = ({ offload, mesh, globalBatch, microBatch }: Base): boolean =>
  offload?.optimizer === true && globalBatch === mesh.data * mesh.fsdp * microBatch;

interface Order {
  readonly schedule: ScheduleName;
  readonly chunks: number;
}

function baseOf(
  { globalBatch, kept, model }: Space,
  mesh: Plan['mesh'],
  rest: Order & Pick<Base, 'microBatch' | 'stage'>,
): Base {
  return {
    ...{ mesh, globalBatch, ...rest, accumulation: undefined, sequence: model.sequence },
    offload: kept.offload ?? undefined,
    sequenceParallel: kept.sequenceParallel ?? (mesh.tensor > 1 && dividesPieces(mesh, model)),
    flashAttention: kept.flashAttention,
    ...{ fused: true, scatterGather: true },
  };
}

/** Whether `tensor` divides the tokens of a device, as sequence parallelism needs. */
const dividesPieces = ({ tensor, context }: Plan['mesh'], { sequence }: Model): boolean =>
  (sequence / context) % tensor === 0;

function* meshesOf(space: Space): Generator<Plan['mesh']> {
  const { devices } = space.cluster;
  for (const tensor of sizesOf('tensor', devices, space))
    for (const pipeline of sizesOf('pipeline', devices / tensor, space))
      for (const context of sizesOf('context', devices / tensor / pipeline, space))
        for (const fsdp of sizesOf('fsdp', devices / tensor / pipeline / context, space)) {
          const data = devices / tensor / pipeline / context / fsdp;
          const mesh = { data, tensor, pipeline, context, fsdp };
          if (isShared(mesh, space)) yield mesh;
        }
}

/** Whether the batch and the sequence can be divided, and the axis data has the size that is asked for. */
function isShared(mesh: Plan['mesh'], { kept, model, globalBatch, refuse }: Space): boolean {
  const { data, fsdp } = mesh;
  if (kept.mesh.data !== undefined && kept.mesh.data !== data) {
    refuse(() => `mesh.data is ${kept.mesh.data}, but the other axes leave ${counted(data, 'device')} to it`);
    return false;
  }
  if (kept.sequenceParallel && !dividesPieces(mesh, model)) {
    refuse(
      () =>
        `mesh.tensor (${mesh.tensor}) does not divide the tokens of a sequence, as sequenceParallel needs`,
    );
    return false;
  }
  if (globalBatch % (data * fsdp) === 0) return true;
  refuse(() => `the batch of ${globalBatch} is no multiple of data × fsdp (${data * fsdp})`);
  return false;
}

/** The sizes that an axis may have of so many devices. */
function sizesOf(
  axis: Exclude<keyof Plan['mesh'], 'data'>,
  devices: number,
  space: Space,
): readonly number[] {
  const fixed = space.kept.mesh[axis];
  const candidates = fixed === undefined ? divisorsOf(devices) : [fixed];
  const reasons = candidates.map((size) => whyNot(axis, size, devices, space));
  const possible = candidates.filter((_, i) => !reasons[i]);
  if (possible.length === 0) for (const reason of reasons) space.refuse(reason!);
  return possible;
}

type Reason = () => string;

function whyNot(
  axis: Exclude<keyof Plan['mesh'], 'data'>,
  size: number,
  devices: number,
  { model, cluster, kept }: Space,
): Reason | undefined {
  const divides = (name: string, whole: number): Reason | undefined =>
    whole % size === 0 ? undefined : () => `mesh.${axis} (${size}) does not divide ${name} (${whole})`;
  const common = divides('the devices that other axes leave', devices);
  if (common !== undefined) return common;
  if (axis === 'tensor')
    return divides('model.kvHeads', model.kvHeads) ?? divides('model.ffn', model.intermediate);
  if (axis === 'context') return divides('model.sequence', model.sequence);
  if (axis === 'fsdp') return whyNotFsdp(size, cluster.devices, kept);
  if (size > model.layers)
    return () => `mesh.pipeline (${size}) is more than the ${counted(model.layers, 'layer')}`;
  if (size > 1 && kept.offload) return () => 'offload does not go with mesh.pipeline';
  return undefined;
}

function whyNotFsdp(size: number, devices: number, { stage, offload }: Kept): Reason | undefined {
  if (stage === 3 && size === 1) return () => 'stage 3 needs an axis fsdp of more than one device';
  if (stage !== undefined && stage !== 3 && size > 1)
    return () => `mesh.fsdp (${size}) is stage 3, not ${stage}`;
  if (offload?.params && size === 1 && devices > 1) return () => 'offload.params needs an axis fsdp';
  return undefined;
}

function microBatchesOf(
  mesh: Plan['mesh'],
  { schedule, chunks }: Order,
  { globalBatch, kept, refuse }: Space,
): number[] {
  const batch = globalBatch / (mesh.data * mesh.fsdp);
  const divisors = divisorsOf(batch);
  requireDivisor(kept.microBatch, 'a micro-batch of', batch);
  const isPipeline = mesh.pipeline > 1;
  if (!isPipeline) requireDivisor(kept.accumulation, 'the accumulation', batch);
  if (isPipeline && (kept.accumulation ?? 1) !== 1) {
    refuse(
      () => `a pipeline has an accumulation of 1, not ${kept.accumulation}: microBatch divides its batch`,
    );
    return [];
  }
  function requireDivisor(size: number | undefined, name: string, of: number): void {
    if (size !== undefined && !divisors.includes(size))
      refuse(
        () => `${name} ${size} does not divide the batch of ${of} that the other axes leave to a device`,
      );
  }
  return divisors.filter((microBatch) => {
    const microBatches = batch / microBatch;
    if (kept.microBatch !== undefined && microBatch !== kept.microBatch) return false;
    if (!isPipeline && kept.accumulation !== undefined && microBatches !== kept.accumulation) {
      refuse(
        () =>
          `${kept.accumulation} × ${microBatch} (accumulation × microBatch) is not the batch of ${batch} of a device`,
      );
      return false;
    }
    const shape = { ranks: mesh.pipeline, chunks, microBatches };
    if (!hasUnevenGroups(shape) && !hasTooManyPasses(shape)) return true;
    refuse(
      () => `${microBatches} micro-batches do not go with the schedule ${schedule} of ${mesh.pipeline} ranks`,
    );
    return false;
  });
}

/**
 * Stage 2 gives no more than stage 1 in a pipeline, whose steps sum gradients at their end. `fsdp` divides
 * the state over its own axis only, so stages 1 and 2 go without the axis `context`.
 */
function stagesOf({ data, fsdp, pipeline, context }: Plan['mesh'], { kept, refuse }: Space): Plan['stage'][] {
  if (fsdp > 1) return [3];
  const possible = ([0, 1, 2] as const).filter((stage) =>
    stage === 0 ? data === 1 || !kept.offload : data > 1 && context === 1 && !(stage === 2 && pipeline > 1),
  );
  if (kept.stage === undefined && possible.length > 0) return possible;
  const stages = possible.filter((stage) => stage === kept.stage);
  if (stages.length === 0)
    refuse(
      () =>
        `stage ${kept.stage ?? '1 for offload'} needs an axis data of more than one device, and no context${kept.stage === 2 ? ' or pipeline' : ''}`,
    );
  return stages;
}

function ordersOf({ pipeline }: Plan['mesh'], { model, cluster, kept, refuse }: Space): Order[] {
  const orders = pipeline === 1 ? ordersOfOne(kept, refuse) : ordersOfSeveral(kept, cluster);
  return orders.filter(({ schedule, chunks }) => {
    const reason = whyNotOrder(schedule, { ranks: pipeline, chunks, microBatches: 1 }, model, kept);
    if (reason) refuse(reason);
    return reason === undefined;
  });
}

/** gpipe takes the time of 1f1b, and more memory, unless messages delay only the receiver. */
function ordersOfSeveral({ schedule: kept, precision, flashAttention, chunks }: Kept, cluster: Cluster) {
  const { overlaps } = calibrationOf(cluster, { precision: precision ?? PRECISIONS[0], flashAttention });
  return ORDERS.filter(({ schedule }) =>
    kept === undefined ? schedule !== 'gpipe' || overlaps : schedule === kept,
  ).map((order): Order => ({ ...order, chunks: chunks ?? order.chunks }));
}

function whyNotOrder(
  schedule: ScheduleName,
  shape: PipelineShape,
  { layers }: Model,
  { checkpointEvery }: Kept,
): Reason | undefined {
  const stages = shape.ranks * shape.chunks;
  if (hasTooManyChunks(schedule, shape))
    return () => `the schedule ${schedule} has one chunk on each device, not ${shape.chunks}`;
  if (schedule === 'interleaved' && shape.chunks === 1)
    return () => 'the schedule interleaved has two chunks or more on each device';
  if (stages > layers) return () => `${stages} stages are more than the ${counted(layers, 'layer')}`;
  if (checkpointEvery != null && checkpointEvery > layers / stages)
    return () =>
      `sections of ${counted(checkpointEvery, 'layer')} are more than the ${layers / stages} of a stage`;
  return undefined;
}

/** The fields of a plan without a pipeline are 1f1b and one chunk: with `mesh.pipeline` they are no choice. */
function ordersOfOne({ schedule, chunks = 1, mesh }: Kept, refuse: Space['refuse']): Order[] {
  const isFree = schedule === undefined || (schedule === '1f1b' && mesh.pipeline === 1);
  if (isFree && chunks === 1) return [{ schedule: '1f1b', chunks: 1 }];
  refuse(() => 'a schedule and chunks are for a pipeline of several ranks');
  return [];
}

const ORDERS: readonly Order[] = [
  { schedule: '1f1b', chunks: 1 },
  { schedule: 'zeroBubble', chunks: 1 },
  { schedule: 'interleaved', chunks: 2 },
  { schedule: 'gpipe', chunks: 1 },
];

const known = new Map<number, number[]>();

export function divisorsOf(whole: number): readonly number[] {
  const found = known.get(whole) ?? dividing(whole);
  known.set(whole, found);
  return found;
}

function dividing(whole: number): number[] {
  const small = Array.from({ length: Math.floor(Math.sqrt(whole)) }, (_, i) => i + 1).filter(
    (size) => whole % size === 0,
  );
  const large = small.map((size) => whole / size).filter((size) => size !== small.at(-1));
  return [...small, ...large.toReversed()];
}
