import type { Model } from '../model.js';
import type { FullPlan } from './full-plan.js';

/** Options of `Accelerator.create` of `@acc/core`. */
export interface AcceleratorChoices {
  readonly strategy?: 'ddp' | 'fsdp';
  readonly mesh?: Readonly<Partial<Record<'data' | 'fsdp' | 'tensor' | 'context' | 'pipeline', number>>>;
  readonly ddp?: { readonly commHook: 'bf16' | 'fp16' };
  readonly fsdp?: {
    readonly stage: 1 | 2 | 3;
    readonly mixedPrecision?: { readonly param?: 'bf16' | 'fp16'; readonly reduce: 'bf16' | 'fp16' };
    readonly offload?: { readonly params: boolean; readonly optimizer: boolean; readonly to: string };
  };
  readonly mixedPrecision: 'no' | 'bf16' | 'fp16' | 'fp8';
  readonly amp?: { readonly float32Precision: 'ieee' | 'tf32' };
  readonly gradientAccumulationSteps?: number;
  readonly checkpointEvery?: number;
  readonly pipeline?: { readonly microBatches: number; readonly schedule: FullPlan['schedule'] };
}

/** A plan as a program writes it. */
export interface CreateOptions {
  readonly options: AcceleratorChoices;
  /** Rows of the batches that each rank gets. */
  readonly batchSize: number;
  /** Sentences on the rest, which are no options of `create`. */
  readonly program: readonly string[];
}

/** The folder that plans with offload to disks name. */
const FOLDER = '/tmp/acc-offload';

/** The options with which `@acc/core` trains as the plan says. */
export function createOptionsOf(plan: FullPlan, model: Pick<Model, 'vocabulary'>): CreateOptions {
  const { mesh, stage, offload, microBatch, globalBatch, accumulation, checkpointEvery, schedule } = plan;
  const batchOfDevice = globalBatch / (mesh.data * mesh.fsdp);
  const isSharded = stage > 0 || offload !== null;
  return {
    options: {
      ...(isSharded ? { strategy: 'fsdp' as const, fsdp: fsdpOf(plan) } : ddpOf(plan)),
      ...meshOf(plan, isSharded),
      ...precisionOf(plan.precision),
      ...(accumulation > 1 && { gradientAccumulationSteps: accumulation }),
      ...(checkpointEvery !== null && { checkpointEvery }),
      ...(mesh.pipeline > 1 && { pipeline: { microBatches: batchOfDevice / microBatch, schedule } }),
    },
    batchSize: mesh.pipeline > 1 ? batchOfDevice : microBatch,
    program: programOf(plan, model),
  };
}

/** Stages 1 and 2 divide over the axis `fsdp`, too. */
function meshOf({ mesh, stage }: FullPlan, isSharded: boolean): Pick<AcceleratorChoices, 'mesh'> {
  const { data, fsdp, tensor, context, pipeline } = mesh;
  const rows = isSharded && stage < 3 ? { fsdp: data } : { data, fsdp };
  const axes = Object.entries({ ...rows, tensor, context, pipeline }).filter(
    ([axis, size]) => size > 1 || (isSharded && axis === 'fsdp'),
  );
  return axes.length === 0 ? {} : { mesh: Object.fromEntries(axes) };
}

/** Gradients and gathered weights travel in 16 bits, as is predicted. */
function ddpOf({ mesh, precision }: FullPlan): Pick<AcceleratorChoices, 'strategy' | 'ddp'> {
  const dtype = dtypeOf(precision);
  if (mesh.data * mesh.context === 1) return {};
  return { strategy: 'ddp', ...(dtype && { ddp: { commHook: dtype } }) };
}

const dtypeOf = (precision: FullPlan['precision']): 'bf16' | 'fp16' | undefined =>
  precision === 'float32' || precision === 'tf32' ? undefined : precision === 'fp16' ? 'fp16' : 'bf16';

function fsdpOf({ stage, offload, precision }: FullPlan): NonNullable<AcceleratorChoices['fsdp']> {
  const dtype = dtypeOf(precision);
  const { params = false, optimizer = false, to = 'cpu' } = offload ?? {};
  return {
    stage: stage === 0 ? 1 : stage,
    // With fp8, `create` refuses another type of products.
    ...(dtype && { mixedPrecision: { ...(precision !== 'fp8' && { param: dtype }), reduce: dtype } }),
    ...(offload && { offload: { params, optimizer, to: to === 'cpu' ? to : FOLDER } }),
  };
}

function precisionOf(precision: FullPlan['precision']): Pick<AcceleratorChoices, 'mixedPrecision' | 'amp'> {
  if (precision === 'float32') return { mixedPrecision: 'no', amp: { float32Precision: 'ieee' } };
  if (precision === 'tf32') return { mixedPrecision: 'no', amp: { float32Precision: 'tf32' } };
  return { mixedPrecision: precision };
}

function programOf(plan: FullPlan, { vocabulary }: Pick<Model, 'vocabulary'>): string[] {
  const { mesh, sequenceParallel, flashAttention, chunks, offload, precision, recompute } = plan;
  const lines: [boolean, string][] = [
    [mesh.tensor > 1, "parallelize(model, 'auto') before prepare."],
    [
      mesh.tensor > 1 && sequenceParallel,
      "For sequenceParallel, name layers in place of 'auto', with norms and dropout as 'sequence'. Otherwise activations take more memory.",
    ],
    [
      vocabulary % mesh.tensor !== 0,
      `Each rank of tensor has the whole embedding, because ${mesh.tensor} does not divide the vocabulary (${vocabulary}). A padded vocabulary takes less memory and time.`,
    ],
    [mesh.pipeline > 1, 'accelerator.pipelined(model, loss), or fit, in place of minimize.'],
    [
      chunks > 2,
      `pipeline.stages has a list of layers for each of ${mesh.pipeline * chunks} stages: without it there are two for each rank.`,
    ],
    [
      flashAttention,
      'The fused attention of @acc/core (scaledDotProductAttention, the layers of @acc/transformer).',
    ],
    [offload !== null, 'On a GPU, this version of @acc/core refuses fsdp.offload.'],
    [
      precision === 'fp8' && mesh.fsdp > 1,
      'With fp8, this version of @acc/core gathers parameters in float32, which takes longer than is predicted.',
    ],
    [recompute === 'selective', '@acc/core has no selective recomputation.'],
  ];
  return lines.filter(([isNeeded]) => isNeeded).map(([, line]) => line);
}
