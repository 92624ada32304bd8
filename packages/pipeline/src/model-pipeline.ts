import {
  addN,
  dispose,
  scalar,
  tensor1d,
  type Optimizer,
  type Scalar,
  type Tensor,
  type Variable,
} from '@tensorflow/tfjs-core';
import {
  AccError,
  fingerprintOf,
  finallyAfter,
  hashOf,
  requireSameBatch,
  requireSameOptions,
  type Collective,
  type ListMath,
  type Recorder,
  type StagedWeights,
} from '@acc/contract';
import { layersOfModels, type LayerGraph } from '@acc/tfjs-internals';
import type { Recomputation } from './run/stage-forward.js';
import { requireNoFailure } from './run/failures.js';
import { runStep, type StepFailure, type StepInputs, type StepResult } from './run/run-step.js';
import { Scatter, type SameValues } from './run/scatter.js';
import { scheduleOf, type Schedule, type ScheduleName } from '@acc/planner/schedules';
import { measureCalls, type MeasureContext } from './stages/measure.js';
import {
  callsWithinMasks,
  layerCalls,
  ownersOf,
  penaltiesOf,
  planOf,
  sharedWeights,
  trainedWeights,
  trainingCalls,
  type SharedWeight,
  type StagePlan,
  type TrainedWeights,
} from './stages/plan.js';
import { stagesByCost, stagesByName } from './stages/stage-of-calls.js';
import { foreignVariables } from './weights/foreign.js';
import { borrowed, returnGradients } from './weights/shared.js';

export interface ModelPipelineOptions {
  readonly model: LayerGraph;
  /** Without `stages`, tells how many there are. */
  readonly schedule: ScheduleName;
  /** The names of the layers of each stage. Undefined: stages of about the same measured cost. */
  readonly stages: readonly (readonly string[])[] | undefined;
  /** The number of micro-batches that steps will have. Undefined: that of the stages. */
  readonly microBatches: number | undefined;
}

export interface ModelPipelineContext extends MeasureContext {
  /** The ranks of this pipeline. */
  readonly pipe: Collective;
  /** Undefined if one rank holds the whole model. */
  readonly weights: StagedWeights | undefined;
  readonly lists: ListMath;
  readonly recomputation: Recomputation | undefined;
  /** Runs what a replay of a recorded step repeats in JavaScript. */
  readonly runAction: Recorder['runAction'];
  /** Optimizers that may have state of the model's weights. */
  readonly optimizers: readonly Optimizer[];
  /** Undefined if this rank computes its stages alone, or the others have other values. */
  readonly sameValues: SameValues | undefined;
}

/** The computation of one step. */
export interface PipelineStep extends Omit<StepInputs, 'shapes'> {
  /** Describes the shapes of micro-batches. */
  readonly shapes: string;
  readonly schedule: ScheduleName;
  readonly microBatches: number;
  /** Adds the penalties of regularizers to the loss, with this factor before their gradients. */
  readonly penaltySeed?: number;
  /**
   * Whether `fit` takes the step. It trains the weights that its model collects, and the loss may use
   * other variables.
   */
  readonly asFit?: boolean;
}

/** How a step ends. */
export interface StepEnd<T> {
  /** Gets the gradients while this rank's weights are in memory. */
  finish(result: PipelineResult): T;
  /** Takes the step after that, and returns the results of the step. */
  update(finished: T): readonly Tensor[];
}

export interface PipelineResult {
  /** The trained weights that this rank holds, in the order of the model. */
  readonly trained: readonly Variable[];
  /**
   * The sum over micro-batches of the gradient of each of {@link trained}. Null if there was none.
   * The caller disposes them.
   */
  readonly grads: (Tensor | null)[];
  /** The gradients of the penalties, in the same order. The caller disposes them. */
  readonly penaltyGrads: (Tensor | null)[];
  /** The losses of the micro-batches, on the rank that computes them. Disposed after `finish`. */
  readonly losses: readonly Tensor[];
  /** Whether layers of this rank have added terms to the loss, whose gradients began with `lossSeed`. */
  readonly addsTerms: boolean;
  /** The sum of the penalties of this rank's weights. */
  readonly penalty: number;
}

const SAME_TRAINED = 'Freeze the same layers on every rank, and train them again in the same step.';

const SAME_OPTIONS =
  'Give accelerator.pipelined, or the option pipeline of the Accelerator, the same values on every rank.';

/** The number of stages of each rank that the schedule `interleaved` has by default. */
const DEFAULT_CHUNKS = 2;

/** A model in stages on the ranks of a pipeline. Every rank makes it. */
export class ModelPipeline {
  readonly plan: StagePlan;
  readonly #context: ModelPipelineContext;
  /** The rank that holds each weight. */
  readonly #owners: ReadonlyMap<Variable, number>;
  readonly #shared: readonly SharedWeight[];
  readonly #scatter: Scatter | undefined;
  readonly #schedules = new Map<string, Schedule>();
  /** The shapes of batches, with the names of the trained weights, that ranks have compared. */
  readonly #compared = new Set<string>();
  /** The failed steps. Their messages may have had other shapes, so later ones have other slots. */
  #failures = 0;

  /**
   * Gives each rank the weights of its stages. Other ranks free them.
   *
   * @throws AccError `ACC_PIPELINE_STAGES`, `ACC_PIPELINE_SHAPE`, `ACC_PIPELINE_WEIGHT`, and
   * `ACC_OPTIONS_DIFFER` if ranks give other options.
   */
  constructor(
    { model, schedule, stages, microBatches }: ModelPipelineOptions,
    context: ModelPipelineContext,
  ) {
    const { collective, pipe } = context;
    requireSameOptions('pipelined', { schedule, stages, microBatches }, collective, SAME_OPTIONS);
    this.#context = context;
    this.#scatter = context.sameValues && new Scatter(context.sameValues);
    const count = stages && pipe.size > 1 ? stages.length : defaultStages(schedule, pipe.size);
    const stageOf = this.#stageOf(model, stages, count);
    // One rank computes all stages as one.
    this.plan = planOf(model, pipe.size === 1 ? stageOf.map(() => 0) : stageOf, pipe.size === 1 ? 1 : count);
    const owners = (this.#owners = ownersOf(this.plan, pipe.size));
    this.#shared = sharedWeights(this.plan, pipe.size);
    this.scheduleFor(schedule, microBatches ?? count);
    this.#trained(false);
    const local = this.plan.stages.filter((_, stage) => stage % pipe.size === pipe.rank);
    const ownLayers = new Set<unknown>(local.flatMap((stage) => stage.layers));
    const layersElsewhere = new Set<unknown>(
      [...layersOfModels(model.layers)].filter((layer) => !ownLayers.has(layer)),
    );
    const { weights, optimizers } = context;
    weights?.place({ owners, layers: model.layers, layersElsewhere, optimizers });
  }

  /** The number of ranks of the pipeline. */
  get ranks(): number {
    return this.#context.pipe.size;
  }

  /** @throws AccError `ACC_PIPELINE_SHAPE` for numbers that the schedule cannot have. */
  scheduleFor(name: ScheduleName, microBatches: number): Schedule {
    const { size } = this.#context.pipe;
    const key = `${name} ${microBatches}`;
    const known = this.#schedules.get(key);
    if (known) return known;
    const chunks = this.plan.stages.length / size;
    if (!Number.isInteger(chunks)) throw unevenStages(this.plan.stages.length, size);
    const created = scheduleOf(name, { ranks: size, chunks, microBatches });
    this.#schedules.set(key, created);
    return created;
  }

  /**
   * Compares the shapes of batches over the ranks of the pipeline in each step, and which weights are
   * trained. Of the first batch of each shape it compares the values: to compare all values would cost
   * a pass over each batch.
   *
   * @throws AccError `ACC_BATCHES_DIFFER`, and `ACC_OPTIONS_DIFFER` if ranks train other weights.
   */
  compareBatch(tensors: readonly Tensor[], asFit: boolean): void {
    const { pipe, runAction } = this.#context;
    if (pipe.size === 1) return;
    runAction(tensors, (given) => {
      const shapes = given.map(({ dtype, shape }) => `${dtype}[${shape.join()}]`).join();
      const names = this.#trained(asFit).all.map(({ name }) => name);
      const key = JSON.stringify([shapes, names]);
      if (isSameOnAll(key, pipe) && this.#compared.has(key)) return [];
      requireSameOptions('the trained weights', { names }, pipe, SAME_TRAINED);
      const local = given.map((tensor) => fingerprintOf(tensor, tensor.dataSync()));
      requireSameBatch({ call: 'pipelined', axis: 'pipeline' }, local, pipe);
      this.#compared.add(key);
      return [];
    });
  }

  /**
   * Runs a step. Every rank of the pipeline calls it. A recording of it has the forward and backward
   * passes; what comes before and after them runs in JavaScript in each replay.
   *
   * @throws An error of a layer or of the loss on the rank on which it happened, and
   * `ACC_PIPELINE_FAILED` with its reason on all others. All can take the next step. Ranks that wait for
   * the failed one inside of a layer or of the loss get errors of their collectives instead.
   */
  run<T>(step: PipelineStep, end: StepEnd<T>): readonly Tensor[] {
    const { weights, pipe, runAction } = this.#context;
    const { plan } = this;
    const trained = this.#trained(step.asFit ?? false);
    const enter = () => {
      weights?.enterStep({
        borrowed: borrowed(this.#shared, pipe, (variable) => weights.ownValues(variable)),
        trained: trained.all,
      });
      return [];
    };
    const leave = () => weights?.leaveStep();
    runAction([], enter, { afterFailure: leave });
    try {
      const schedule = this.scheduleFor(step.schedule, step.microBatches);
      const shapes = () =>
        this.#failures === 0 ? step.shapes : `${step.shapes} after ${this.#failures} failures`;
      const foreign = step.asFit ? [] : foreignVariables(this.#owners.keys());
      const scatter = this.#scatter;
      const subject = { ...this.#context, plan, schedule, trained: trained.ofStages, foreign, scatter };
      const run = runStep(subject, { ...step, shapes });
      const { grads, losses, failure, addsTerms } = run;
      const variables = [...grads.keys()];
      const results = runAction([...grads.values(), ...losses], (given) => {
        this.#requireNoFailure(failure, schedule, given);
        const ofStep = new Map(variables.map((variable, i) => [variable, given[i]!]));
        const created = { grads: ofStep, losses: given.slice(variables.length), addsTerms };
        const finish = () => this.#finish(step, end, created, trained.all);
        return end.update(finallyAfter(finish, leave));
      });
      return results.map((result) => result!);
    } finally {
      leave();
    }
  }

  #requireNoFailure(failure: StepFailure | undefined, schedule: Schedule, created: readonly Tensor[]): void {
    const { collective, pipe } = this.#context;
    if (pipe.size === 1 && !failure) return;
    try {
      if (pipe.size === 1) throw failure!.error;
      requireNoFailure(failure, schedule, collective);
    } catch (error) {
      this.#failures++;
      dispose([...created]);
      throw error;
    }
  }

  /** The weights that are trained now, by `fit` or by a loop. */
  #trained(asFit: boolean): TrainedWeights {
    const trained = trainedWeights(this.plan, asFit);
    requireTrained(trained, this.#owners, this.ranks);
    return trained;
  }

  #finish<T>(
    step: PipelineStep,
    end: StepEnd<T>,
    { grads, losses, addsTerms }: Omit<StepResult, 'failure'>,
    allTrained: readonly Variable[],
  ): T {
    try {
      const all = new Map(grads);
      const shared = this.#shared.filter(({ variable }) => allTrained.includes(variable));
      returnGradients(shared, this.#context.pipe, all);
      const trained = allTrained.filter((variable) => this.#isOwn(variable));
      const penalized = this.#penalties(step.penaltySeed, trained);
      return end.finish({
        trained,
        grads: trained.map((variable) => all.get(variable) ?? null),
        ...penalized,
        losses,
        addsTerms,
      });
    } finally {
      dispose([...losses]);
    }
  }

  /** The penalties of the layers of this rank's stages, and their gradients. */
  #penalties(
    seed: number | undefined,
    trained: readonly Variable[],
  ): Pick<PipelineResult, 'penalty' | 'penaltyGrads'> {
    const { runForward } = this.#context;
    const none = { penalty: 0, penaltyGrads: trained.map(() => null) };
    if (seed === undefined) return none;
    let has = false;
    const pass = runForward(() => {
      const terms = penaltiesOf(this.plan, (variable) => this.#isOwn(variable));
      has = terms.length > 0;
      return has ? addN(terms) : scalar(0);
    }, trained);
    const [total] = pass.outputs as [Scalar];
    if (!has) {
      pass.dispose();
      total.dispose();
      return none;
    }
    const dy = scalar(seed);
    const penaltyGrads = pass.backward([dy]);
    const penalty = total.dataSync()[0]!;
    dispose([dy, total]);
    return { penalty, penaltyGrads };
  }

  #isOwn(variable: Variable): boolean {
    return this.#owners.get(variable) === this.#context.pipe.rank;
  }

  #stageOf(
    model: LayerGraph,
    stages: readonly (readonly string[])[] | undefined,
    count: number,
  ): readonly number[] {
    const calls = layerCalls(model);
    const inputNames = model.inputs.map(({ sourceLayer }) => sourceLayer.name);
    if (stages) return stagesByName(calls, stages, inputNames);
    if (count === 1) return calls.map(() => 0);
    const { costs, masked } = measureCalls(model, this.#context);
    return stagesByCost(costs, trainingCalls(calls), count, callsWithinMasks(model, calls, masked));
  }
}

/** Compares one number of each text, so that every step can afford it. */
function isSameOnAll(text: string, ranks: Collective): boolean {
  const hash = hashOf(text);
  const local = tensor1d([hash], 'int32');
  const all = ranks.allGather(local);
  const isSame = all.dataSync().every((other) => other === hash);
  dispose([local, all]);
  return isSame;
}

function defaultStages(schedule: ScheduleName, ranks: number): number {
  return schedule === 'interleaved' && ranks > 1 ? DEFAULT_CHUNKS * ranks : ranks;
}

/** Ranks settle, clip and update together, so each needs something to train. */
function requireTrained({ all }: TrainedWeights, owners: ReadonlyMap<Variable, number>, ranks: number): void {
  const training = new Set(all.map((each) => owners.get(each)));
  const idle = Array.from({ length: ranks }, (_, rank) => rank).filter((rank) => !training.has(rank));
  if (idle.length === 0) return;
  throw new AccError(
    'ACC_PIPELINE_STAGES',
    `stages: rank ${idle.join(' and rank ')} of the pipeline would have no weights to train.`,
    {
      help: 'Move a layer with trained weights to its stages, freeze fewer layers, or use a smaller axis pipeline.',
    },
  );
}

function unevenStages(stages: number, ranks: number): AccError {
  return new AccError(
    'ACC_PIPELINE_SHAPE',
    `stages: ${stages} stages cannot be divided over the ${ranks} ranks of the pipeline.`,
    {
      help: `Give ${ranks} stages, or a multiple of that with schedule: 'interleaved'.`,
      details: { stages, ranks },
    },
  );
}
