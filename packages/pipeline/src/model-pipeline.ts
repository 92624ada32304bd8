import {
  add,
  addN,
  dispose,
  scalar,
  tensor1d,
  zeros,
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
  heldPartOf,
  requireSameBatch,
  requireSameOptions,
  type Collective,
  type ListMath,
  type Recorder,
  type StagedWeights,
} from '@acc/contract';
import type { LayerGraph } from '@acc/tfjs-internals';
import type { Recomputation } from './run/stage-forward.js';
import { requireNoFailure } from './run/failures.js';
import { runStep, type StepFailure, type StepInputs, type StepResult } from './run/run-step.js';
import type { Schedule, ScheduleName } from './schedule/action.js';
import { scheduleOf } from './schedule/schedule.js';
import { measureCosts, type MeasureContext } from './stages/measure.js';
import {
  layerCalls,
  ownersOf,
  penaltiesOf,
  planOf,
  sharedWeights,
  trainingCalls,
  type StagePlan,
} from './stages/plan.js';
import { stagesByCost, stagesByName } from './stages/stage-of-calls.js';

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
}

/** What one step computes. */
export interface PipelineStep extends Omit<StepInputs, 'shapes'> {
  /** Describes the shapes of micro-batches. */
  readonly shapes: string;
  readonly schedule: ScheduleName;
  readonly microBatches: number;
  /** Adds the penalties of regularizers to the loss, with this factor before their gradients. */
  readonly penaltySeed?: number;
}

/** How a step ends. */
export interface StepEnd<T> {
  /** Gets the gradients while this rank's weights are in memory. */
  finish(result: PipelineResult): T;
  /** Takes the step after that, and returns the results of the step. */
  update(finished: T): readonly Tensor[];
}

export interface PipelineResult {
  /**
   * The sum over micro-batches of the gradient of each of {@link ModelPipeline.trained}. Null if
   * there was none. The caller disposes them.
   */
  readonly grads: (Tensor | null)[];
  /** The gradients of the penalties, in the same order. The caller disposes them. */
  readonly penaltyGrads: (Tensor | null)[];
  /** The losses of the micro-batches, on the rank that computes them. Disposed after `finish`. */
  readonly losses: readonly Tensor[];
  /** The sum of the penalties of this rank's weights. */
  readonly penalty: number;
}

const SAME_OPTIONS =
  'Give accelerator.pipelined, or the option pipeline of the Accelerator, the same values on every rank.';

/** The number of stages of each rank that the schedule `interleaved` has by default. */
const DEFAULT_CHUNKS = 2;

/** A model in stages on the ranks of a pipeline. Every rank makes it. */
export class ModelPipeline {
  readonly plan: StagePlan;
  /** The trained weights that this rank holds, in the order of the model. */
  readonly trained: readonly Variable[];
  readonly #context: ModelPipelineContext;
  readonly #schedules = new Map<string, Schedule>();
  /** The shapes of batches that ranks have compared. */
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
    const count = stages && pipe.size > 1 ? stages.length : defaultStages(schedule, pipe.size);
    const stageOf = this.#stageOf(model, stages, count);
    // One rank computes all stages as one.
    this.plan = planOf(model, pipe.size === 1 ? stageOf.map(() => 0) : stageOf, pipe.size === 1 ? 1 : count);
    const owners = ownersOf(this.plan, pipe.size);
    const trained = [...new Set(this.plan.stages.flatMap((stage) => stage.trained))];
    this.trained = trained.filter((variable) => owners.get(variable) === pipe.rank);
    this.scheduleFor(schedule, microBatches ?? count);
    requireTrained(this.plan, pipe.size);
    const own = this.plan.stages.filter((_, stage) => stage % pipe.size === pipe.rank);
    const ownLayers = new Set<unknown>(own.flatMap(({ calls }) => calls.map(({ layer }) => layer)));
    const layersElsewhere = new Set<unknown>(model.layers.filter((layer) => !ownLayers.has(layer)));
    const { weights, optimizers } = context;
    weights?.place({ owners, trained, layers: model.layers, layersElsewhere, optimizers });
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
    const made = scheduleOf(name, { ranks: size, chunks, microBatches });
    this.#schedules.set(key, made);
    return made;
  }

  /**
   * Compares the shapes of batches over the ranks of the pipeline in each step, and the values of the
   * first batch of each shape: to compare all values would cost a pass over each batch.
   *
   * @throws AccError `ACC_BATCHES_DIFFER`.
   */
  compareBatch(tensors: readonly Tensor[]): void {
    const { pipe, runAction } = this.#context;
    if (pipe.size === 1) return;
    runAction(tensors, (given) => {
      const shapes = given.map(({ dtype, shape }) => `${dtype}[${shape.join()}]`).join();
      if (isSameOnAll(shapes, pipe) && this.#compared.has(shapes)) return [];
      const own = given.map((tensor) => fingerprintOf(tensor, tensor.dataSync()));
      requireSameBatch({ call: 'pipelined', axis: 'pipeline' }, own, pipe);
      this.#compared.add(shapes);
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
    const { weights, runAction } = this.#context;
    const { plan } = this;
    const enter = () => {
      weights?.enterStep(this.#borrow(weights));
      return [];
    };
    const leave = () => weights?.leaveStep();
    runAction([], enter, { afterFailure: leave });
    try {
      const schedule = this.scheduleFor(step.schedule, step.microBatches);
      const shapes = () =>
        this.#failures === 0 ? step.shapes : `${step.shapes} after ${this.#failures} failures`;
      const run = runStep({ ...this.#context, plan, schedule }, { ...step, shapes });
      const { grads, losses, failure } = run;
      const variables = [...grads.keys()];
      const results = runAction([...grads.values(), ...losses], (given) => {
        this.#requireNoFailure(failure, schedule, given);
        const ofStep = new Map(variables.map((variable, i) => [variable, given[i]!]));
        const finish = () =>
          this.#finish(step, end, { grads: ofStep, losses: given.slice(variables.length) });
        return end.update(finallyAfter(finish, leave));
      });
      return results.map((result) => result!);
    } finally {
      leave();
    }
  }

  #requireNoFailure(failure: StepFailure | undefined, schedule: Schedule, made: readonly Tensor[]): void {
    const { collective, pipe } = this.#context;
    if (pipe.size === 1 && !failure) return;
    try {
      if (pipe.size === 1) throw failure!.error;
      requireNoFailure(failure, schedule, collective);
    } catch (error) {
      this.#failures++;
      dispose([...made]);
      throw error;
    }
  }

  #finish<T>(step: PipelineStep, end: StepEnd<T>, { grads, losses }: Omit<StepResult, 'failure'>): T {
    try {
      const all = new Map(grads);
      this.#returnShared(all);
      const penalized = this.#penalties(step.penaltySeed);
      return end.finish({
        grads: this.trained.map((variable) => all.get(variable) ?? null),
        ...penalized,
        losses,
      });
    } finally {
      dispose([...losses]);
    }
  }

  /** Gets the values of weights that this rank uses and another one holds. */
  #borrow(weights: StagedWeights): Map<Variable, Tensor> {
    const { pipe } = this.#context;
    const shared = sharedWeights(this.plan, pipe.size);
    const sent = shared
      .filter(({ owner }) => owner === pipe.rank)
      .flatMap(({ variable, users }) =>
        users.map((user) => pipe.sendAsync(weights.ownValues(variable), user, slotOf(variable))),
      );
    const borrowed = new Map<Variable, Tensor>();
    for (const { variable, owner, users } of shared) {
      if (users.includes(pipe.rank)) borrowed.set(variable, pipe.recv(owner, slotOf(variable)));
    }
    for (const pending of sent) pending.wait();
    return borrowed;
  }

  /** Adds the gradients of weights that several ranks use on the rank that holds them. */
  #returnShared(grads: Map<Variable, Tensor>): void {
    const { pipe } = this.#context;
    const trained = new Set(this.plan.stages.flatMap((stage) => stage.trained));
    const shared = sharedWeights(this.plan, pipe.size).filter(({ variable }) => trained.has(variable));
    const sent = shared.flatMap(({ variable, owner, users }) => {
      if (!users.includes(pipe.rank)) return [];
      const grad = grads.get(variable) ?? zeros(heldPartOf(variable)?.own.shape ?? variable.shape);
      const pending = pipe.sendAsync(grad, owner, slotOf(variable));
      grad.dispose();
      grads.delete(variable);
      return [pending];
    });
    for (const { variable, owner, users } of shared) {
      if (owner !== pipe.rank) continue;
      for (const user of users) addTo(grads, variable, pipe.recv(user, slotOf(variable)));
    }
    for (const pending of sent) pending.wait();
  }

  /** The penalties of the layers of this rank's stages, and their gradients. */
  #penalties(seed: number | undefined): Pick<PipelineResult, 'penalty' | 'penaltyGrads'> {
    const { pipe, runForward } = this.#context;
    const none = { penalty: 0, penaltyGrads: this.trained.map(() => null) };
    if (seed === undefined) return none;
    const owners = ownersOf(this.plan, pipe.size);
    let has = false;
    const pass = runForward(() => {
      const terms = penaltiesOf(this.plan, (variable) => owners.get(variable) === pipe.rank);
      has = terms.length > 0;
      return has ? addN(terms) : scalar(0);
    }, this.trained);
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

  #stageOf(
    model: LayerGraph,
    stages: readonly (readonly string[])[] | undefined,
    count: number,
  ): readonly number[] {
    const calls = layerCalls(model);
    const inputNames = model.inputs.map(({ sourceLayer }) => sourceLayer.name);
    if (stages) return stagesByName(calls, stages, inputNames);
    if (count === 1) return calls.map(() => 0);
    return stagesByCost(measureCosts(model, this.#context), trainingCalls(calls), count);
  }
}

/** Compares one number of each text, so that every step can afford it. */
function isSameOnAll(text: string, ranks: Collective): boolean {
  const hash = hashOf(text);
  const own = tensor1d([hash], 'int32');
  const all = ranks.allGather(own);
  const isSame = all.dataSync().every((other) => other === hash);
  dispose([own, all]);
  return isSame;
}

function defaultStages(schedule: ScheduleName, ranks: number): number {
  return schedule === 'interleaved' && ranks > 1 ? DEFAULT_CHUNKS * ranks : ranks;
}

const slotOf = ({ name }: Variable) => ({ slot: `weight ${name}` });

function addTo(grads: Map<Variable, Tensor>, variable: Variable, grad: Tensor): void {
  const before = grads.get(variable);
  if (before) {
    grads.set(variable, add(before, grad));
    dispose([before, grad]);
  } else grads.set(variable, grad);
}

/** Ranks settle, clip and update together, so each needs something to train. */
function requireTrained(plan: StagePlan, ranks: number): void {
  const owners = ownersOf(plan, ranks);
  const training = new Set(plan.stages.flatMap(({ trained }) => trained.map((each) => owners.get(each))));
  const idle = Array.from({ length: ranks }, (_, rank) => rank).filter((rank) => !training.has(rank));
  if (idle.length === 0) return;
  throw new AccError(
    'ACC_PIPELINE_STAGES',
    `stages: rank ${idle.join(' and rank ')} of the pipeline would have no weights to train.`,
    { help: 'Move a layer with trained weights to its stages, or use a smaller axis pipeline.' },
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
