import {
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
} from '@acc/contract';
import { isLive, slotListsOf } from '@acc/kernels';
import { placedStrategy, type DistributedUpdate, type Placer } from '@acc/placement';
import { engineInternals, layersOfModels } from '@acc/tfjs-internals';
import { cannotCombine, cannotDefer, notDivided, outsideStep } from '../errors.js';
import { cutState, freeState } from './local-state-check.js';
import { Placed, type PlacedContext } from './placed.js';
import { stagedTape } from './staged-tape.js';

/**
 * Holds the weights of each stage of a pipeline on one rank. `inner` combines the gradients of a
 * stage over the ranks that have the same stage.
 */
export function staged(inner: Strategy): Strategy {
  return placedStrategy(new Staged(inner));
}

class Staged implements Placer<Placed>, StagedWeights {
  readonly name: string;
  readonly traits: StrategyTraits;
  readonly tape: TapeHooks;
  readonly stages: StagedWeights = this;
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
  #isInStep = false;
  /** The weights that are in memory for the step. */
  readonly #used: Placed[] = [];

  constructor(readonly inner: Strategy) {
    if (inner.state) throw cannotCombine('A communication hook that keeps state');
    if (inner.traits.syncAt === 'apply') throw cannotCombine("ddp.syncAt: 'apply'");
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
    // What is sharded differs between stages.
    const { gradientRanks } = context.mesh;
    this.inner.attach(this.#isSharded ? { ...context, collective: gradientRanks } : context);
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
      if (layers.length === 0) this.inner.prepareVariables(variables);
    } else this.inner.prepareVariables(variables, layers);
    for (const variable of ofModel) this.#waiting.add(variable);
  }

  prepareLayers(layers: readonly unknown[]): () => void {
    // One by one, so that layers of other ranks can be given back.
    const own = layersOfModels(layers);
    for (const layer of own) {
      const undo = this.inner.prepareLayers?.([layer]);
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
    this.inner.prepareOptimizer?.(optimizer);
  }

  place({ owners, layers, layersElsewhere, optimizers }: StagePlacement): void {
    const { kernels } = this.#context;
    const context: PlacedContext = {
      defer: (info, load) => {
        if (!kernels.defer) throw cannotDefer(kernels.backendName);
        return kernels.defer(info, load);
      },
      pipe: this.group,
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
    this.inner.prepareVariables(
      waiting.map(({ local }) => local),
      layers,
    );
    cutState(optimizers, waiting, ({ local }) => this.inner.layout?.shardsOf(local));
  }

  ownValues(variable: Variable): Tensor {
    return this.#placed.get(variable)!.local;
  }

  enterStep({ borrowed, trained }: StagedStep): void {
    this.#takeOverAssigned();
    this.#noteTrained(trained);
    this.#isInStep = true;
    try {
      for (const placed of this.#placed.values()) {
        const values = borrowed.get(placed.full);
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
      this.#placed.get(variable)!.local.trainable = true;
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
      if (placed.state === 'assigned') placed.takeOver();
      else placed.release();
    }
  }

  beginReduction(variables: readonly Variable[]): GradientReduction {
    if (!this.#isInStep) {
      const placed = variables.find((variable) => this.#placed.has(variable));
      if (placed) throw outsideStep(placed);
      this.#requireDivided(variables);
    }
    return this.inner.beginReduction(this.#isSharded ? this.#owns(variables) : variables);
  }

  get group(): Collective {
    return this.#context.mesh.along('pipeline');
  }

  distributed(variable: Variable): Placed | undefined {
    return this.#placed.get(variable);
  }

  settle(placed: Placed): void {
    placed.takeOverAssigned();
  }

  materialize(placed: Placed, local: () => Tensor): Tensor {
    this.#takeOverAssigned();
    return placed.whole(local);
  }

  /** The gradients of a stage have all elements. */
  expose(_placed: Placed, local: Tensor): Tensor {
    return local;
  }

  isExposed(): boolean {
    return false;
  }

  exposed(_placed: Placed, grad: Tensor): Tensor {
    return grad;
  }

  /**
   * Optimizers keep state by position. So each rank has a place for every weight that was trained,
   * without elements for those of other ranks.
   */
  completeUpdate(grads: NamedTensorMap, variableOf: (name: string) => Variable | undefined): NamedTensorMap {
    const variables = Object.keys(grads).flatMap((name) => variableOf(name) ?? []);
    this.#requireDivided(variables);
    const foreign = this.#placedOf(variables).find(({ isOwn, name }) => !isOwn && isThere(grads[name]));
    if (foreign) throw outsideStep(foreign.full);
    const all: Record<string, Tensor | null> = {};
    for (const { isOwn, name } of this.#updatedWith(variables)) {
      all[name] = isOwn || name in grads ? null : zeros([0]);
    }
    return { ...all, ...grads } as NamedTensorMap;
  }

  update({ distributed }: DistributedUpdate<Placed>, run: () => void): void {
    for (const placed of distributed.values()) {
      placed.takeOverAssigned();
      placed.release();
      if (placed.isShared) placed.separate();
    }
    run();
  }

  synchronize(fromRank: number): void {
    this.inner.synchronize?.(fromRank);
  }

  detach(): void {
    this.inner.detach?.();
    for (const placed of [...this.#placed.values()]) this.#drop(placed);
    this.#layers.clear();
    this.#waiting.clear();
  }

  /** Ranks of a pipeline whose model is not divided would train copies that drift apart. */
  #requireDivided(variables: readonly Variable[]): void {
    const waiting = variables.find((variable) => this.#waiting.has(variable));
    const isNothingDivided = this.#placed.size === 0 && variables.length > 0;
    if (waiting || isNothingDivided) throw notDivided(waiting ?? variables[0]!, this.group.size);
  }

  /** The variables as a sharding inner strategy knows them. */
  #owns(variables: readonly Variable[]): Variable[] {
    return variables.map((variable) => this.#placed.get(variable)?.local ?? variable);
  }

  #placedOf(variables: readonly Variable[]): Placed[] {
    return variables.flatMap((variable) => this.#placed.get(variable) ?? []);
  }

  /** The trained weights of the model that has these variables. */
  #updatedWith(variables: readonly Variable[]): Placed[] {
    return this.#placedOf([...this.#trainedWith(variables)]);
  }

  /** Whether the values of a weight are in memory only while an operator uses them. */
  #comes({ isOwn, local }: Placed): boolean {
    const { tape } = this.inner;
    const isBrought = tape?.before !== undefined && tape.isIdle?.() !== true;
    return isOwn && isBrought && this.inner.layout?.shardsOf(local) !== undefined;
  }

  /** The weights that come for an operator of this step. */
  #coming(variables: readonly Variable[]): Placed[] {
    const placed = this.#isInStep ? this.#placedOf(variables) : [];
    return placed.filter((each) => this.#comes(each));
  }

  /** Frees the values that were read, except those of `variables`. */
  #keepOnly(variables: readonly Variable[]): void {
    for (const placed of this.#read) {
      if (variables.includes(placed.full)) continue;
      placed.release();
      this.#read.delete(placed);
    }
  }

  #beforeLoad(placed: Placed): void {
    // A kernel that loads one variable may have the memory of another at hand.
    if (engineInternals().state.kernelDepth === 0) this.#keepOnly([placed.full]);
    this.#read.add(placed);
  }

  #takeOverAssigned(): void {
    this.#keepOnly([]);
    for (const placed of this.#placed.values()) placed.takeOverAssigned();
  }

  #leaveLayer(layer: unknown): void {
    this.#layers.get(layer)?.();
    this.#layers.delete(layer);
  }

  #drop(placed: Placed): void {
    this.#read.delete(placed);
    this.#placed.delete(placed.full);
    this.#ofModel.delete(placed.full);
    placed.dispose();
  }
}
