import { add, dispose, scalar, zeros, type Tensor, type Variable } from '@tensorflow/tfjs-core';
import {
  isAccError,
  type ListMath,
  type ProductSums,
  type Recorder,
  type RunForward,
  type TapedForward,
} from '@acc/contract';
import { forward, keyOf as keyOfAction, type Action } from '@acc/planner/schedules';
import type { Stage } from '../stages/plan.js';
import { requireNoForeign } from '../weights/foreign.js';
import { Messages, type Message, type MessagesOptions } from './messages.js';
import { runObserved } from './observe-actions.js';
import {
  requireDependent,
  stageForward,
  type PassRecomputation,
  type Recomputation,
} from './stage-forward.js';

/** The facts about a pipelined model that are the same in all steps. */
export interface StepSubject extends Omit<MessagesOptions, 'shapes'> {
  /** The weights of each stage that are trained. */
  readonly trained: readonly (readonly Variable[])[];
  /** Variables that are trained elsewhere, or nowhere. No stage may use them. */
  readonly foreign: readonly Variable[];
  readonly runForward: RunForward;
  readonly lists: ListMath;
  readonly recomputation?: Recomputation | undefined;
  /** Runs what a replay of a recorded step repeats in JavaScript. */
  readonly runAction: Recorder['runAction'];
}

/** One step on this rank's batch. */
export interface StepInputs {
  /** The inputs of the model for a micro-batch. The call disposes them. */
  inputs(microBatch: number): Tensor[];
  /** The loss of a micro-batch, a scalar, from the outputs of the model. It runs in a tidy. */
  loss(microBatch: number, outputs: readonly Tensor[]): Tensor;
  /** The factor that gradients of a micro-batch's loss start with, after the loss was computed. */
  seed(microBatch: number): number;
  /** The factor that gradients of loss terms from layers start with, on every rank. */
  readonly lossSeed: number;
  /** Describes the shapes of micro-batches. Asked in each replay of a recorded step, too. */
  readonly shapes: () => string;
}

/** The first error of this rank in a step. */
export interface StepFailure {
  readonly error: unknown;
  readonly action: Action;
  /** Whether the loss function threw it. */
  readonly isInLoss: boolean;
}

export interface StepResult {
  /** If there is one, the gradients are incomplete. */
  readonly failure: StepFailure | undefined;
  /** The sums over micro-batches of gradients, for this rank's weights. The caller disposes them. */
  readonly grads: ReadonlyMap<Variable, Tensor>;
  /** The losses of the micro-batches, on the rank with the last stage. The caller disposes them. */
  readonly losses: readonly Tensor[];
  /** Whether layers of this rank have added terms to the loss. */
  readonly addsTerms: boolean;
}

/**
 * Runs this rank's row of the schedule. All ranks of the pipeline call it. After an error in a layer
 * or in the loss, the rank takes part in the messages of the row to its end, so that no rank waits in
 * vain and the group stays usable.
 *
 * @throws Errors of messages.
 */
export function runStep(subject: StepSubject, step: StepInputs): StepResult {
  return new Step(subject, step).run();
}

/** A forward pass until its backward pass. */
interface Pass {
  readonly taped: TapedForward;
  /** The received values that the stage computes with, and the trained weights. */
  readonly used: readonly number[];
  readonly trained: readonly Variable[];
  /** The sent values that the stage makes. Others are passed on. */
  readonly made: readonly number[];
  /** The shapes of the received values, by id. */
  readonly shapes: ReadonlyMap<number, number[]>;
}

class Step {
  readonly #subject: StepSubject;
  readonly #step: StepInputs;
  #messages!: Messages;
  readonly #passes = new Map<string, Pass>();
  readonly #grads = new Map<Variable, Tensor>();
  /** The variables whose gradients are sums, or products, that this step has made. */
  readonly #summed = new Set<Variable>();
  readonly #losses: Tensor[] = [];
  #addsTerms = false;
  #failure: StepFailure | undefined;
  #isInLoss = false;
  /** Whether the step has run. If it was recorded, its actions run again in replays. */
  #isReplay = false;
  /** The tensors that the last action of a replay has received. */
  #received: readonly Tensor[] = [];

  constructor(subject: StepSubject, step: StepInputs) {
    this.#subject = subject;
    this.#step = step;
  }

  run(): StepResult {
    const { schedule, pipe } = this.#subject;
    try {
      const begin = () => {
        this.#messages = new Messages({ ...this.#subject, shapes: this.#step.shapes() });
      };
      this.#perform([], begin);
      const act = (action: Action) => this.#act(action);
      runObserved(schedule.rows[pipe.rank]!, act, () => this.#messages);
      this.#perform([], () => this.#messages.end());
      this.#isReplay = true;
    } catch (error) {
      this.#free();
      // A message that cannot travel is a consequence.
      throw this.#failure?.error ?? error;
    }
    if (this.#failure) this.#free();
    const addsTerms = this.#addsTerms;
    return { grads: this.#grads, losses: this.#losses, failure: this.#failure, addsTerms };
  }

  #free(): void {
    for (const { taped } of this.#passes.values()) taped.dispose();
    dispose([...this.#grads.values()]);
    dispose(this.#losses.splice(0));
    this.#grads.clear();
    this.#passes.clear();
  }

  /** Computes a part of an action, unless this rank has failed in the step. */
  #attempt<T>(action: Action, compute: () => T): T | undefined {
    if (this.#failure) return undefined;
    this.#isInLoss = false;
    try {
      return compute();
    } catch (error) {
      this.#failure = { error, action, isInLoss: this.#isInLoss };
      return undefined;
    }
  }

  /** Runs an action, which a replay repeats with tensors of its own. */
  #perform(inputs: readonly Tensor[], act: (inputs: readonly Tensor[]) => void): void {
    this.#subject.runAction(inputs, (given) => {
      this.#freeReceived();
      act(given);
      if (this.#isReplay) dispose([...given]);
      return [];
    });
  }

  /** The caller disposes the tensors. */
  #receive(messages: readonly Message[]): Map<number, Tensor> {
    if (messages.length === 0) return new Map();
    const tensors = this.#subject.runAction([], () => {
      this.#freeReceived();
      const received = messages.map((message) => this.#messages.receive(message));
      if (this.#isReplay) this.#received = received;
      return received;
    });
    return new Map(messages.map(({ id }, i) => [id, tensors[i]!]));
  }

  /** A recording holds what it still needs of the tensors of an action once it has gone on. */
  #freeReceived(): void {
    dispose([...this.#received]);
    this.#received = [];
  }

  /** Without tensors, sends what keeps the other ranks going. */
  #send(action: Action, messages: readonly Message[], tensors: readonly Tensor[] | undefined): void {
    if (messages.length === 0) return;
    this.#perform(tensors ?? [], (given) => {
      messages.forEach((message, i) => {
        if (tensors) this.#sendTensor(action, message, given[i]!);
        else this.#messages.sendNothing(message);
      });
    });
  }

  /** Other shapes than those of earlier messages are a failure, too. */
  #sendTensor(action: Action, message: Message, tensor: Tensor): void {
    try {
      this.#messages.send(message, tensor);
    } catch (error) {
      if (!isAccError(error, 'ACC_COLLECTIVE_SHAPE')) throw error;
      this.#failure ??= { error, action, isInLoss: false };
      this.#messages.sendNothing(message);
    }
  }

  #act(action: Action): void {
    if (action.kind === 'forward') this.#forward(action);
    else if (action.kind === 'backward') this.#backward(action);
    else this.#weights(action);
  }

  #forward(action: Action): void {
    const { stage: index, microBatch } = action;
    const stage = this.#subject.plan.stages[index]!;
    const received = this.#receive(
      stage.receives.map((id) => ({ kind: 'forward', stage: index - 1, microBatch, id })),
    );
    const pass = this.#attempt(action, () => this.#pass(action, received));
    this.#send(
      action,
      stage.sends.map((id) => ({ kind: 'forward', stage: index, microBatch, id })),
      pass && stage.sends.map((id) => received.get(id) ?? pass.taped.outputs[pass.made.indexOf(id)]!),
    );
    const isLast = index === this.#subject.plan.stages.length - 1;
    if (pass && isLast) this.#losses.push(pass.taped.outputs[0]!);
    else if (pass) dispose([...pass.taped.outputs]);
    dispose([...received.values()]);
    if (pass) this.#passes.set(keyOf(index, microBatch), pass);
  }

  /** Computes a stage. */
  #pass({ stage: index, microBatch }: Action, received: ReadonlyMap<number, Tensor>): Pass {
    const { plan, runForward } = this.#subject;
    const stage = plan.stages[index]!;
    const isLast = index === plan.stages.length - 1;
    const taken = new Set([...stage.calls.flatMap((call) => call.inputs), ...(isLast ? plan.outputs : [])]);
    const inputs = plan.inputs.some((id) => taken.has(id)) ? this.#step.inputs(microBatch) : [];
    const given = new Map([...received, ...inputs.map((input, i) => [plan.inputs[i]!, input] as const)]);
    const used = stage.receives.filter((id) => taken.has(id) && received.get(id)!.dtype === 'float32');
    const created = stage.sends.filter((id) => !received.has(id));
    const trained = this.#subject.trained[index]!;
    const shapes = new Map([...received].map(([id, { shape }]) => [id, shape]));
    try {
      const taped = runForward(
        () => this.#compute({ stage, given, made: created, isLast, index, microBatch }),
        [...used.map((id) => received.get(id)!), ...trained, ...this.#subject.foreign],
      );
      if (isLast) requireDependent(taped);
      return { taped, used, trained, made: created, shapes };
    } finally {
      dispose(inputs);
    }
  }

  #compute({ stage, given, made, isLast, index, microBatch }: Computation): Tensor[] {
    const { plan } = this.#subject;
    const recomputation = this.#recomputationOf(forward(index, microBatch));
    if (!isLast) return stageForward(stage, given, made, recomputation);
    const outputs = stageForward(stage, given, plan.outputs, recomputation);
    this.#isInLoss = true;
    const loss = this.#step.loss(microBatch, outputs);
    this.#isInLoss = false;
    return [loss];
  }

  #recomputationOf(action: Action): PassRecomputation | undefined {
    const { recomputation, schedule, pipe } = this.#subject;
    if (!recomputation) return undefined;
    const row = schedule.rows[pipe.rank]!.map(keyOfAction);
    const next = row[row.indexOf(keyOfAction(action)) + 1];
    return { ...recomputation, isBackwardNext: next === keyOfAction({ ...action, kind: 'backward' }) };
  }

  #backward(action: Action): void {
    const { stage: index, microBatch } = action;
    const stage = this.#subject.plan.stages[index]!;
    const fromNext = this.#receive(
      stage.sends.map((id) => ({ kind: 'backward', stage: index + 1, microBatch, id })),
    );
    const computed = this.#attempt(action, () => this.#backwardPass(action, fromNext));
    this.#send(
      action,
      stage.receives.map((id) => ({ kind: 'backward', stage: index, microBatch, id })),
      computed?.grads,
    );
    dispose([...(computed?.grads ?? []), ...fromNext.values()]);
    const { ofWeights } = computed ?? {};
    if (ofWeights) this.#attempt(action, () => this.#end(index, microBatch, ofWeights()));
  }

  /** The gradients that a stage sends, and those of its weights, unless they come later. */
  #backwardPass({ stage: index, microBatch }: Action, fromNext: ReadonlyMap<number, Tensor>) {
    const { plan } = this.#subject;
    const stage = plan.stages[index]!;
    const pass = this.#passes.get(keyOf(index, microBatch))!;
    const isLast = index === plan.stages.length - 1;
    const dys = isLast ? [scalar(this.#step.seed(microBatch))] : pass.made.map((id) => fromNext.get(id)!);
    const [ofInputs, ofWeights] = this.#gradients(pass, dys);
    if (isLast) dispose(dys);
    const grads = stage.receives.map((id) => {
      const local = ofInputs[pass.used.indexOf(id)] ?? null;
      return sumOf(local, fromNext.get(id) ?? null) ?? zeros(pass.shapes.get(id)!);
    });
    return { grads, ofWeights };
  }

  /**
   * The gradients of a pass's inputs and, unless they come later, of its weights. The stage before
   * waits for the first ones, so those of weights are computed when they are sent.
   */
  #gradients(
    { taped, used, trained }: Pass,
    dys: readonly (Tensor | null)[],
  ): [(Tensor | null)[], (() => (Tensor | null)[]) | undefined] {
    const { lossSeed } = this.#step;
    if (this.#subject.schedule.name === 'zeroBubble') {
      return [taped.backwardTo(used.length, dys, lossSeed), undefined];
    }
    const sums = this.#sumsOf(trained);
    if (used.length > 0) {
      return [taped.backwardTo(used.length, dys, lossSeed), () => taped.backwardRest(sums)];
    }
    const grads = taped.backward(dys, lossSeed, sums);
    return [[], () => grads];
  }

  #weights(action: Action): void {
    const { stage, microBatch } = action;
    this.#attempt(action, () => {
      const pass = this.#passes.get(keyOf(stage, microBatch))!;
      this.#end(stage, microBatch, pass.taped.backwardRest(this.#sumsOf(pass.trained)));
    });
  }

  /** Adds gradients that are products to the sums of earlier micro-batches. */
  #sumsOf(trained: readonly Variable[]): ProductSums {
    const { lists } = this.#subject;
    return {
      ofProduct: (index, gradient) => {
        const variable = trained[index]!;
        const sum = this.#grads.get(variable);
        if (sum && this.#summed.has(variable)) return lists.addProduct?.(sum, gradient) ?? gradient();
        if (!sum) this.#summed.add(variable);
        return gradient();
      },
    };
  }

  /** Adds the gradients of a micro-batch, which is then done on this stage. */
  #end(stage: number, microBatch: number, grads: readonly (Tensor | null)[]): void {
    const { taped, trained } = this.#passes.get(keyOf(stage, microBatch))!;
    this.#addsTerms ||= taped.addsTerms;
    this.#passes.delete(keyOf(stage, microBatch));
    requireNoForeign(this.#subject.foreign, grads.slice(trained.length));
    const present = trained.flatMap((variable, i) => (grads[i] ? [{ variable, grad: grads[i] }] : []));
    const more = present.filter(({ variable, grad }) => {
      const sum = this.#grads.get(variable);
      if (sum?.dataId !== grad.dataId) return sum !== undefined;
      // The product has been added.
      sum.dispose();
      this.#grads.delete(variable);
      return false;
    });
    const sums = this.#subject.lists.add(
      more.map(({ variable }) => this.#grads.get(variable)!),
      more.map(({ grad }) => grad),
      1,
      more.every(({ variable }) => this.#summed.has(variable)),
    );
    more.forEach(({ variable, grad }, i) => {
      this.#grads.set(variable, sums[i]!);
      this.#summed.add(variable);
      grad.dispose();
    });
    for (const { variable, grad } of present) if (!this.#grads.has(variable)) this.#grads.set(variable, grad);
  }
}

interface Computation {
  readonly stage: Stage;
  readonly given: ReadonlyMap<number, Tensor>;
  readonly made: readonly number[];
  readonly isLast: boolean;
  /** The number of the stage. */
  readonly index: number;
  readonly microBatch: number;
}

const keyOf = (stage: number, microBatch: number): string => `${stage} ${microBatch}`;

/** The sum of two gradients, the first of which it disposes. */
function sumOf(local: Tensor | null, passed: Tensor | null): Tensor | null {
  if (!local || !passed) return local ?? passed;
  const sum = add(local, passed);
  local.dispose();
  return sum;
}
