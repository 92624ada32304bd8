import type { Optimizer, Scalar, Tensor } from '@tensorflow/tfjs-core';
import {
  AccError,
  type Collective,
  type KernelLayer,
  type ListMath,
  type Mesh,
  type MeshAxis,
  type RunForward,
  type StagedWeights,
  type Strategy,
} from '@acc/contract';
import { portableLists } from '@acc/kernels';
import { checkpoint, mapNested, type Nested } from '@acc/tape';
import type { LayerGraph, ModelInternals, StepFunction } from '@acc/tfjs-internals';
import { ModelPipeline } from '../model-pipeline.js';
import type { ScheduleName } from '@acc/planner/schedules';
import { fitLoss } from './fit-loss.js';
import { inputList, partOf, requireDivisible, rowsOf, type ModelInputs } from './micro-batches.js';
import { takeStep, type BatchStep } from './pipelined-step.js';
import type { StagedTraining } from './staged-training.js';

/** How a model is trained in stages. */
export interface PipelineSettings {
  readonly schedule: ScheduleName;
  /** Undefined: the number of stages. */
  readonly microBatches?: number | undefined;
  /** The names of the layers of each stage. Undefined: stages of about the same measured cost. */
  readonly stages?: readonly (readonly string[])[] | undefined;
}

export interface PipelinesContext {
  readonly collective: Collective;
  readonly mesh: Mesh;
  readonly strategy: Strategy;
  readonly kernels: KernelLayer;
  readonly trainingStep: StagedTraining;
  readonly runForward: RunForward;
  readonly checkpointEvery: number | undefined;
  /**
   * The settings that options of a program mean. Those that are absent have defaults.
   *
   * @throws AccError for invalid options.
   */
  settingsOf(options: object): PipelineSettings;
  /** Whether the program asks `fit` to train in stages. */
  readonly asksFit: boolean;
  /** @throws AccError if a model is not prepared. */
  requirePrepared(model: AnyModel): void;
  readonly prepared: { readonly optimizers: readonly Optimizer[] };
}

/** The loss of predictions, a scalar. A model with several outputs gives a list. */
export type PipelinedLoss<Y extends Nested, P> = (yTrue: Y, yPred: P) => Tensor;

/** A model as the graph of its layers, and as what is trained. */
export type AnyModel = ModelInternals & LayerGraph;

interface Divided {
  readonly model: ModelPipeline;
  /** The options by which it was divided. */
  readonly key: string;
}

/** The models that are trained in stages. */
export class Pipelines {
  readonly #context: PipelinesContext;
  /** By the last layer: a Sequential and the model through which it trains have the same one. */
  readonly #divided = new WeakMap<object, Divided>();

  constructor(context: PipelinesContext) {
    this.#context = context;
  }

  /** Whether `fit` trains in stages. */
  get isUsedByFit(): boolean {
    return this.#pipe.size > 1 || this.#context.asksFit;
  }

  /** See `Accelerator.pipelined`. */
  stepOf<X extends ModelInputs, Y extends Nested, P>(
    model: AnyModel,
    loss: PipelinedLoss<Y, P>,
    options: object,
  ): (xs: X, ys: Y) => Scalar {
    const settings = this.#context.settingsOf(options);
    if (this.#optimizersOf(model).length > 1) this.#optimizerOf(model);
    const divided = this.#divide(model, settings);
    const { schedule, microBatches = divided.plan.stages.length } = settings;
    divided.scheduleFor(schedule, microBatches);
    return (xs, ys) => {
      const list = inputList(model, xs);
      const given = [...list, ...tensorsIn(ys)];
      const rows = rowsOf(given, microBatches);
      const [value] = this.#take(model, divided, {
        ...{ schedule, microBatches, rows, given, xs: list },
        values: (i, outputs) => [
          loss(partOf(ys, i, rows), (outputs.length === 1 ? outputs[0] : outputs) as P),
        ],
        metrics: 0,
        isFit: false,
      });
      return value!;
    };
  }

  /** The function by which `fit` takes a step. */
  trainFunctionOf(model: AnyModel): StepFunction {
    const { schedule, ...settings } = this.#context.settingsOf({});
    const divided = this.#divide(model, { schedule, ...settings });
    const most = settings.microBatches ?? divided.plan.stages.length;
    let largest = 0;
    return (data) => {
      const given = data.filter((column) => (column as Tensor | null) !== null && column !== undefined);
      // Ranks that compute a stage together need the same number of micro-batches.
      const ofRanks = this.#context.trainingStep.batch?.rows ?? [given[0]!.shape[0]!];
      const all = ofRanks.reduce((sum, rows) => sum + rows, 0);
      // A smaller batch at the end of the data has fewer.
      const isExact = settings.microBatches !== undefined && all >= largest;
      largest = Math.max(largest, all);
      const microBatches = isExact ? most : fittingParts(divided, schedule, ofRanks, most);
      if (isExact) for (const rows of ofRanks) requireDivisible(rows, most);
      const rows = rowsOf(given, microBatches);
      const part = (i: number) => data.map((column) => column && partOf(column, i, rows));
      return this.#take(model, divided, {
        ...{ schedule, microBatches, rows, given },
        xs: data.slice(0, model.inputs.length),
        values: (i, outputs) => fitLoss(model, part(i), outputs),
        metrics: model.metricsTensors.length,
        isFit: true,
      });
    };
  }

  #take(model: AnyModel, divided: ModelPipeline, batch: BatchStep): Scalar[] {
    const { trainingStep } = this.#context;
    const optimizer = this.#optimizerOf(model);
    return takeStep({ model: divided, pipe: this.#pipe, trainingStep, optimizer }, batch);
  }

  #divide(model: AnyModel, { schedule, stages, microBatches }: PipelineSettings): ModelPipeline {
    this.#context.requirePrepared(model);
    const last = model.layers.at(-1)!;
    const key = JSON.stringify(stages ?? schedule === 'interleaved');
    const known = this.#divided.get(last);
    if (known?.key === key) return known.model;
    if (known) throw dividedBefore();
    const { kernels, checkpointEvery: every, prepared, ...shared } = this.#context;
    const created = new ModelPipeline(
      { model, schedule, stages, microBatches },
      {
        ...shared,
        pipe: this.#pipe,
        weights: this.#weights(),
        lists: listsFor(shared.mesh, kernels.lists),
        runAction: (inputs, action, options) =>
          kernels.recorder ? kernels.recorder.runAction(inputs, action, options) : action(inputs),
        measures: isFirst(shared.mesh),
        shards: shared.mesh.size('context'),
        sameValues:
          shared.mesh.size('tensor') > 1 ? { line: shared.mesh.along('tensor'), kernels } : undefined,
        recomputation: every === undefined ? undefined : { every, checkpoint },
        optimizers: prepared.optimizers,
      },
    );
    this.#divided.set(last, { model: created, key });
    return created;
  }

  get #pipe(): Collective {
    return this.#context.mesh.along('pipeline');
  }

  #weights(): StagedWeights | undefined {
    const { strategy } = this.#context;
    if (strategy.stages) return strategy.stages;
    if (this.#pipe.size === 1) return undefined;
    throw new AccError(
      'ACC_STRATEGY_CANNOT',
      `The strategy '${strategy.name}' cannot divide a model over the mesh axis pipeline.`,
      { help: "Leave strategy out, or give it: 'auto'." },
    );
  }

  #optimizersOf({ optimizer }: AnyModel): Optimizer[] {
    return [...new Set([...this.#context.prepared.optimizers, ...(optimizer ? [optimizer] : [])])];
  }

  /** @throws AccError `ACC_PIPELINE_OPTIMIZER` unless there is one. */
  #optimizerOf(model: AnyModel): Optimizer {
    const all = this.#optimizersOf(model);
    const [only] = all;
    if (only && all.length === 1) return only;
    throw new AccError(
      'ACC_PIPELINE_OPTIMIZER',
      `pipelined: ${all.length} optimizers are prepared, so it is not known which one trains the model.`,
      {
        help: 'Prepare one optimizer with the model, or compile the model with it. With the axis pipeline, an Accelerator has one optimizer for all of its models.',
      },
    );
  }
}

/** The axes whose ranks compute a layer together. */
const TOGETHER: readonly MeshAxis[] = ['tensor', 'context', 'expert'];

/** The functions that add up gradients. Of tensors in shards, kernels add the shards. */
function listsFor(mesh: Mesh, lists: ListMath): ListMath {
  if (mesh.size('tensor') > 1) return portableLists();
  if (TOGETHER.every((axis) => mesh.size(axis) === 1)) return lists;
  const { addProduct: _ofWholeMatrices, ...others } = lists;
  return others;
}

/** Whether this is the first rank of the job, or one that computes layers together with it. */
function isFirst({ axes, coordinates }: Mesh): boolean {
  return axes.every((axis) => TOGETHER.includes(axis) || coordinates[axis] === 0);
}

/** The largest number of micro-batches, up to `most`, into which the rows of all ranks can be divided. */
function fittingParts(
  divided: ModelPipeline,
  schedule: ScheduleName,
  ofRanks: readonly number[],
  most: number,
): number {
  for (let parts = most; parts > 1; parts--) {
    const isInGroups = schedule !== 'interleaved' || parts < divided.ranks || parts % divided.ranks === 0;
    if (isInGroups && ofRanks.every((rows) => rows % parts === 0)) return parts;
  }
  return 1;
}

function tensorsIn(ys: Nested): Tensor[] {
  const found: Tensor[] = [];
  mapNested(ys, (tensor) => {
    found.push(tensor);
    return tensor;
  });
  return found;
}

function dividedBefore(): AccError {
  return new AccError(
    'ACC_PIPELINE_STAGES',
    'pipelined: the model was already divided into other stages, on which its weights lie.',
    { help: 'Give the same stages in each call, and the same as in the option pipeline if fit is used.' },
  );
}
