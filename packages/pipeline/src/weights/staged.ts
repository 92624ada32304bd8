import {
  add,
  all,
  isFinite,
  scalar,
  sqrt,
  square,
  tidy,
  zeros,
  type NamedTensorMap,
  type Optimizer,
  type Tensor,
  type Variable,
} from '@tensorflow/tfjs-core';
import { broadcastVariables, requireSameVariables } from '@acc/ddp';
import {
  isThere,
  type Collective,
  type GradientReduction,
  type StagedWeights,
  type StagedStep,
  type StagePlacement,
  type Strategy,
  type StrategyContext,
  type StrategyTraits,
  type TapeHooks,
  type TensorShard,
} from '@acc/contract';
import { isLive, registeredVariable, slotListsOf, withHeldRegistered } from '@acc/kernels';
import { engineInternals, layersOfModels } from '@acc/tfjs-internals';
import { cannotCombine, cannotDefer, notDivided, outsideStep } from '../errors.js';
import { cutState, freeState } from './own-state.js';
import { Placed, type PlacedContext } from './placed.js';
import { stagedTape } from './staged-tape.js';

/**
 * Holds the weights of each stage of a pipeline on one rank. `inner` combines the gradients of a
 * stage over the ranks that have the same stage.
 */
export function staged(inner: Strategy): Strategy {
  return new Staged(inner);
}

class Staged implements Strategy, StagedWeights {
  readonly name: string;
  readonly traits: StrategyTraits;
  readonly tape: TapeHooks;
  readonly stages: StagedWeights = this;
  readonly #inner: Strategy;
  readonly #placed = new Map<Variable, Placed>();
  /** Weights whose values came because a program reads them. */
  readonly #read = new Set<Placed>();
  readonly #layers = new Map<unknown, () => void>();
  /** The weights of the model of each one that was trained, of those that were trained. */
  readonly #ofModel = new Map<Variable, Set<Variable>>();
  /** Whether `inner` shards the weights of a stage, which it gets when stages are known. */
  readonly #isSharded: boolean;
  /** The weights of models that are not divided yet. A sharding `inner` gets them when they are. */
  readonly #waiting = new Set<Variable>();
  #context!: StrategyContext;
  #pipe!: Collective;
  #isInStep = false;
  /** The weights that are in memory for the step. */
  readonly #used: Placed[] = [];

  constructor(inner: Strategy) {
    if (inner.getState) throw cannotCombine('A communication hook that keeps state');
    if (inner.traits.syncAt === 'apply') throw cannotCombine("ddp.syncAt: 'apply'");
    this.#inner = inner;
    this.name = `pipeline of ${inner.name}`;
    const { parameters, accumulates, recordsAlone, mixesRanks, mixesGradients } = inner.traits;
    this.#isSharded = parameters === 'sharded';
    const unrecordable =
      inner.traits.unrecordable ??
      (recordsAlone ? 'the weights of its pipeline stages are sharded' : undefined);
    this.traits = {
      parameters: 'sharded',
      ...(unrecordable !== undefined && { unrecordable }),
      ...(accumulates && { accumulates }),
      ...(mixesRanks && { mixesRanks }),
      ...(mixesGradients && { mixesGradients }),
    };
    this.tape = stagedTape(inner.tape, {
      isInStep: () => this.#isInStep,
      hasRead: () => this.#read.size > 0,
      keepOnly: (variables) => this.#keepOnly(variables),
      coming: (variables) => this.#coming(variables),
      isOfStage: (variable) => this.#placed.has(variable) || this.#waiting.has(variable),
    });
  }

  attach(context: StrategyContext): void {
    if (!context.kernels.defer) throw cannotDefer(context.kernels.backendName);
    this.#context = context;
    this.#pipe = context.mesh.along('pipeline');
    // What is sharded differs between stages.
    const { gradientRanks } = context.mesh;
    this.#inner.attach(this.#isSharded ? { ...context, collective: gradientRanks } : context);
  }

  prepareVariables(variables: readonly Variable[], layers: readonly unknown[] = []): void {
    for (const [variable, placed] of this.#placed) if (!isLive(variable)) this.#drop(placed);
    for (const variable of this.#waiting) if (!isLive(variable)) this.#waiting.delete(variable);
    const fresh = variables.filter((each) => !this.#placed.has(each) && !this.#waiting.has(each));
    const ofModel = layers.length > 0 ? fresh : [];
    if (this.#isSharded) {
      const { collective } = this.#context;
      requireSameVariables(variables, collective);
      broadcastVariables(fresh, collective);
      if (layers.length === 0) this.#inner.prepareVariables(variables);
    } else this.#inner.prepareVariables(variables, layers);
    for (const variable of ofModel) this.#waiting.add(variable);
  }

  prepareLayers(layers: readonly unknown[]): () => void {
    // One by one, so that layers of other ranks can be given back.
    const own = layersOfModels(layers);
    for (const layer of own) {
      const undo = this.#inner.prepareLayers?.([layer]);
      if (undo) this.#layers.set(layer, undo);
    }
    return () => {
      for (const layer of own) this.#leaveLayer(layer);
    };
  }

  prepareOptimizer(optimizer: Optimizer): void {
    if (slotListsOf(optimizer)?.some(({ isWhole }) => isWhole)) {
      throw cannotCombine(`The optimizer ${optimizer.getClassName()}, which has state of whole weights,`);
    }
    this.#inner.prepareOptimizer?.(optimizer);
  }

  place({ owners, layers, layersElsewhere, optimizers }: StagePlacement): void {
    const { kernels } = this.#context;
    const context: PlacedContext = {
      defer: (info, load) => {
        if (!kernels.defer) throw cannotDefer(kernels.backendName);
        return kernels.defer(info, load);
      },
      pipe: this.#pipe,
      beforeLoad: (placed) => this.#beforeLoad(placed),
      isInStep: () => this.#isInStep,
    };
    const waiting: Placed[] = [];
    for (const [variable, owner] of owners) {
      const placed = new Placed(variable, owner, context);
      this.#placed.set(variable, placed);
      if (this.#waiting.delete(variable) && placed.isOwn) waiting.push(placed);
    }
    for (const layer of layersElsewhere) this.#leaveLayer(layer);
    freeState(optimizers, [...this.#placed.values()]);
    if (!this.#isSharded) return;
    this.#inner.prepareVariables(
      waiting.map(({ own }) => own),
      layers,
    );
    cutState(optimizers, waiting, ({ own }) => this.#inner.shardsOf?.(own));
  }

  ownValues(variable: Variable): Tensor {
    return this.#placed.get(variable)!.own;
  }

  enterStep({ borrowed, trained }: StagedStep): void {
    this.#takeOverAssigned();
    this.#noteTrained(trained);
    this.#isInStep = true;
    try {
      for (const placed of this.#placed.values()) {
        const values = borrowed.get(placed.variable);
        if (values) placed.fill(values, 0);
        else if (placed.isOwn && !this.#comes(placed)) placed.useOwn();
        else continue;
        this.#used.push(placed);
        values?.dispose();
      }
    } catch (error) {
      this.leaveStep();
      throw error;
    }
  }

  /** Optimizers keep state by position, so a weight that is trained later comes last. */
  #noteTrained(trained: readonly Variable[]): void {
    const ofModel = this.#trainedWith(trained);
    for (const variable of trained) {
      ofModel.add(variable);
      this.#ofModel.set(variable, ofModel);
      this.#placed.get(variable)!.own.trainable = true;
    }
  }

  /** The weights that were trained of the model that has these variables. */
  #trainedWith(variables: readonly Variable[]): Set<Variable> {
    const known = variables.find((variable) => this.#ofModel.has(variable));
    return (known && this.#ofModel.get(known)) ?? new Set();
  }

  leaveStep(): void {
    this.#isInStep = false;
    for (const placed of this.#used.splice(0)) {
      if (placed.isAssigned) placed.takeOver();
      else placed.release();
    }
  }

  beginReduction(variables: readonly Variable[]): GradientReduction {
    if (!this.#isInStep) {
      const placed = variables.find((variable) => this.#placed.has(variable));
      if (placed) throw outsideStep(placed);
      this.#requireDivided(variables);
    }
    return this.#inner.beginReduction(this.#isSharded ? this.#owns(variables) : variables);
  }

  wholeGradients(grads: readonly (Tensor | null)[], variables: readonly Variable[]): (Tensor | null)[] {
    return this.#inner.wholeGradients?.(grads, this.#owns(variables)) ?? [...grads];
  }

  heldGradients(grads: NamedTensorMap): NamedTensorMap | undefined {
    const placed = this.#placedIn(grads);
    return withHeldRegistered(placed, () => this.#inner.heldGradients?.(grads));
  }

  globalNorm(grads: NamedTensorMap): Tensor {
    const [ofStage, others]: [NamedTensorMap, NamedTensorMap] = [{}, {}];
    const placed = this.#placedIn(grads);
    const names = new Set(placed.map(({ name }) => name));
    for (const [name, grad] of Object.entries(grads)) {
      if (isThere(grad)) (names.has(name) ? ofStage : others)[name] = grad;
    }
    return tidy(() => {
      const own = withHeldRegistered(placed, () => square(this.#normOf(ofStage)));
      const over = this.#pipe.allReduce(own, 'sum');
      return sqrt(add(over, square(this.#normOf(others))));
    });
  }

  allFinite(grads: readonly Tensor[]): boolean {
    const { lists } = this.#context.kernels;
    if (this.#inner.allFinite) {
      const isFiniteHere = Number(this.#inner.allFinite(grads));
      return tidy(() => this.#pipe.allReduce(scalar(isFiniteHere), 'min').dataSync()[0] === 1);
    }
    return tidy(() => {
      const filled = grads.filter(({ size }) => size > 0);
      // A norm is finite if all elements are, unless their squares are too large.
      const isSure = filled.length === 0 || Number.isFinite(lists.norm(filled).dataSync()[0]);
      const every = isSure || filled.every((grad) => all(isFinite(grad)).dataSync()[0] === 1);
      return this.#pipe.allReduce(scalar(Number(every)), 'min').dataSync()[0] === 1;
    });
  }

  materialize(variables: readonly Variable[]): Tensor[] {
    this.#takeOverAssigned();
    return variables.map((variable) => {
      const placed = this.#placed.get(variable);
      return placed?.whole() ?? this.#inner.materialize?.([variable])[0] ?? variable.clone();
    });
  }

  update(grads: NamedTensorMap, apply: (grads: NamedTensorMap) => void, optimizer: Optimizer): void {
    const variables = Object.keys(grads).flatMap((name) => registeredVariable(name) ?? []);
    this.#requireDivided(variables);
    const placedOf = (variable: Variable) => this.#placed.get(variable) ?? [];
    const foreign = variables.flatMap(placedOf).find(({ isOwn, name }) => !isOwn && isThere(grads[name]));
    if (foreign) throw outsideStep(foreign.variable);
    const updated = [...this.#trainedWith(variables)].map((variable) => this.#placed.get(variable)!);
    for (const placed of updated) {
      if (placed.isAssigned) placed.takeOver();
      placed.release();
      if (placed.isShared) placed.separate();
    }
    // Optimizers keep state by position. So each rank has a place for every weight, without elements
    // for those of other ranks.
    const nothing = zeros([0]);
    const all: Record<string, Tensor | null> = {};
    for (const { isOwn, name } of updated) all[name] = isOwn ? null : nothing;
    const given = { ...all, ...grads } as NamedTensorMap;
    withHeldRegistered(updated, () => {
      if (this.#inner.update) this.#inner.update(given, apply, optimizer);
      else apply(given);
    });
    nothing.dispose();
  }

  synchronize(fromRank: number): void {
    this.#inner.synchronize?.(fromRank);
  }

  shardsOf(variable: Variable): readonly TensorShard[] | undefined {
    const placed = this.#placed.get(variable);
    return placed ? this.#shardsOfOwn(placed) : this.#inner.shardsOf?.(variable);
  }

  heldBy(variable: Variable): Variable | undefined {
    const placed = this.#placed.get(variable);
    if (!placed) return this.#inner.heldBy?.(variable);
    if (placed.isAssigned) placed.takeOver();
    return this.#inner.heldBy?.(placed.own) ?? placed.own;
  }

  detach(): void {
    this.#inner.detach?.();
    for (const placed of [...this.#placed.values()]) this.#drop(placed);
    this.#layers.clear();
    this.#waiting.clear();
  }

  /** Ranks of a pipeline whose model is not divided would train copies that drift apart. */
  #requireDivided(variables: readonly Variable[]): void {
    const waiting = variables.find((variable) => this.#waiting.has(variable));
    const isNothingDivided = this.#placed.size === 0 && variables.length > 0;
    if (waiting || isNothingDivided) throw notDivided(waiting ?? variables[0]!, this.#pipe.size);
  }

  #shardsOfOwn(placed: Placed): readonly TensorShard[] {
    return this.#inner.shardsOf?.(placed.own) ?? [placed.shard];
  }

  /** The variables as a sharding inner strategy knows them. */
  #owns(variables: readonly Variable[]): Variable[] {
    return variables.map((variable) => this.#placed.get(variable)?.own ?? variable);
  }

  /** The placed weights in a record, which has them by name. */
  #placedIn(grads: NamedTensorMap): Placed[] {
    return Object.keys(grads).flatMap((name) => this.#placed.get(registeredVariable(name)!) ?? []);
  }

  /** Every rank calls it equally often. */
  #normOf(grads: NamedTensorMap): Tensor {
    const list = Object.values(grads);
    if (this.#inner.globalNorm) return this.#inner.globalNorm(grads);
    return list.length > 0 ? this.#context.kernels.lists.norm(list) : scalar(0);
  }

  /** Whether the values of a weight are in memory only while an operator uses them. */
  #comes({ isOwn, own }: Placed): boolean {
    const { tape } = this.#inner;
    const isBrought = tape?.before !== undefined && tape.isIdle?.() !== true;
    return isOwn && isBrought && this.#inner.shardsOf?.(own) !== undefined;
  }

  /** The weights that come for an operator of this step. */
  #coming(variables: readonly Variable[]): Placed[] {
    const placed = this.#isInStep ? variables.flatMap((each) => this.#placed.get(each) ?? []) : [];
    return placed.filter((each) => this.#comes(each));
  }

  /** Frees the values that were read, except those of `variables`. */
  #keepOnly(variables: readonly Variable[]): void {
    for (const placed of this.#read) {
      if (variables.includes(placed.variable)) continue;
      placed.release();
      this.#read.delete(placed);
    }
  }

  #beforeLoad(placed: Placed): void {
    // A kernel that loads one variable may have the memory of another at hand.
    if (engineInternals().state.kernelDepth === 0) this.#keepOnly([placed.variable]);
    this.#read.add(placed);
  }

  #takeOverAssigned(): void {
    this.#keepOnly([]);
    for (const placed of this.#placed.values()) if (placed.isAssigned) placed.takeOver();
  }

  #leaveLayer(layer: unknown): void {
    this.#layers.get(layer)?.();
    this.#layers.delete(layer);
  }

  #drop(placed: Placed): void {
    this.#read.delete(placed);
    this.#placed.delete(placed.variable);
    this.#ofModel.delete(placed.variable);
    placed.dispose();
  }
}
