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
import type {
  Collective,
  GradientReduction,
  StagedWeights,
  StagePlacement,
  Strategy,
  StrategyContext,
  StrategyTraits,
  TapeHooks,
  TensorShard,
} from '@acc/contract';
import { isLive, registeredVariable, slotListsOf, withHeldRegistered } from '@acc/kernels';
import { engineInternals } from '@acc/tfjs-internals';
import { cannotCombine, cannotDefer, outsideStep } from '../errors.js';
import { freeState } from './free-state.js';
import { Placed, type PlacedContext } from './placed.js';

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
  /** The trained weights of the model of each placed one. */
  readonly #ofModel = new Map<Variable, readonly Variable[]>();
  #context!: StrategyContext;
  #pipe!: Collective;
  #isInStep = false;

  constructor(inner: Strategy) {
    if (inner.traits.parameters === 'sharded') throw cannotCombine(`The strategy '${inner.name}'`);
    if (inner.getState) throw cannotCombine('A communication hook that keeps state');
    if (inner.traits.syncAt === 'apply') throw cannotCombine("ddp.syncAt: 'apply'");
    this.#inner = inner;
    this.name = `pipeline of ${inner.name}`;
    this.traits = { parameters: 'sharded', isRecordable: false };
    this.tape = {
      before: (variables) => this.#keepOnly(variables),
      end: () => this.#keepOnly([]),
    };
  }

  attach(context: StrategyContext): void {
    if (!context.kernels.defer) throw cannotDefer(context.kernels.backendName);
    this.#context = context;
    this.#pipe = context.mesh.along('pipeline');
    this.#inner.attach(context);
  }

  prepareVariables(variables: readonly Variable[], layers?: readonly unknown[]): void {
    for (const [variable, placed] of this.#placed) if (!isLive(variable)) this.#drop(placed);
    this.#inner.prepareVariables(variables, layers);
  }

  prepareLayers(layers: readonly unknown[]): () => void {
    // One by one, so that layers of other ranks can be given back.
    for (const layer of layers) {
      const undo = this.#inner.prepareLayers?.([layer]);
      if (undo) this.#layers.set(layer, undo);
    }
    return () => {
      for (const layer of layers) this.#leaveLayer(layer);
    };
  }

  prepareOptimizer(optimizer: Optimizer): void {
    if (slotListsOf(optimizer)?.some(({ isWhole }) => isWhole)) {
      throw cannotCombine(`The optimizer ${optimizer.getClassName()}, which has state of whole weights,`);
    }
    this.#inner.prepareOptimizer?.(optimizer);
  }

  place({ owners, trained, layersElsewhere, optimizers }: StagePlacement): void {
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
    for (const [variable, owner] of owners) {
      this.#placed.set(variable, new Placed(variable, owner, context));
    }
    for (const variable of trained) this.#ofModel.set(variable, trained);
    for (const layer of layersElsewhere) this.#leaveLayer(layer);
    freeState(optimizers, [...this.#placed.values()]);
  }

  ownValues(variable: Variable): Tensor {
    return this.#placed.get(variable)!.own;
  }

  inStep<T>(borrowed: ReadonlyMap<Variable, Tensor>, step: () => T): T {
    this.#takeOverAssigned();
    const used: Placed[] = [];
    this.#isInStep = true;
    try {
      for (const placed of this.#placed.values()) {
        const values = borrowed.get(placed.variable);
        if (placed.isOwn) placed.useOwn();
        else if (values) placed.fill(values, 0);
        else continue;
        values?.dispose();
        used.push(placed);
      }
      return step();
    } finally {
      this.#isInStep = false;
      for (const placed of used) {
        if (placed.isAssigned) placed.takeOver();
        else placed.release();
      }
    }
  }

  beginReduction(variables: readonly Variable[]): GradientReduction {
    const placed = variables.find((variable) => this.#placed.has(variable));
    if (placed && !this.#isInStep) throw outsideStep(placed);
    return this.#inner.beginReduction(variables);
  }

  globalNorm(grads: NamedTensorMap): Tensor {
    const { lists } = this.#context.kernels;
    const present = Object.keys(grads).filter((name) => isThere(grads[name]));
    const isPlaced = (name: string) => this.#placed.has(registeredVariable(name)!);
    const sumOf = (names: readonly string[]) =>
      names.length > 0 ? square(lists.norm(names.map((name) => grads[name]!))) : scalar(0);
    return tidy(() => {
      const own = sumOf(present.filter(isPlaced));
      const over = this.#pipe.allReduce(own, 'sum');
      return sqrt(add(over, sumOf(present.filter((name) => !isPlaced(name)))));
    });
  }

  allFinite(grads: readonly Tensor[]): boolean {
    const { lists } = this.#context.kernels;
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
    return variables.map((variable) => this.#placed.get(variable)?.whole() ?? variable.clone());
  }

  update(grads: NamedTensorMap, apply: (grads: NamedTensorMap) => void): void {
    const [first] = Object.keys(grads).flatMap((name) => {
      return this.#ofModel.get(registeredVariable(name)!) ?? [];
    });
    const updated = (first ? this.#ofModel.get(first)! : []).map((variable) => this.#placed.get(variable)!);
    for (const placed of updated) {
      if (placed.isAssigned) placed.takeOver();
      placed.release();
      if (placed.isShared) placed.separate();
    }
    // Optimizers keep state by position. So each rank has a place for every weight, without elements
    // for those of other ranks.
    const nothing = zeros([0]);
    const all: Record<string, Tensor | null> = {};
    for (const { isOwn, variable } of updated) all[variable.name] = isOwn ? null : nothing;
    withHeldRegistered(updated, () => apply({ ...all, ...grads } as NamedTensorMap));
    nothing.dispose();
  }

  synchronize(fromRank: number): void {
    this.#inner.synchronize?.(fromRank);
  }

  shardsOf(variable: Variable): readonly TensorShard[] | undefined {
    const placed = this.#placed.get(variable);
    return placed && [placed.shard];
  }

  heldBy(variable: Variable): Variable | undefined {
    const placed = this.#placed.get(variable);
    if (placed?.isAssigned) placed.takeOver();
    return placed?.own;
  }

  detach(): void {
    this.#inner.detach?.();
    for (const placed of [...this.#placed.values()]) this.#drop(placed);
    this.#layers.clear();
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

/** In tfjs's records, missing gradients are null or undefined. */
const isThere = (grad: Tensor | null | undefined): boolean => grad != null;
