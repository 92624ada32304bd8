import {
  sqrt,
  square,
  stack,
  tidy,
  unstack,
  type NamedTensorMap,
  type Optimizer,
  type Tensor,
  type Variable,
} from '@tensorflow/tfjs-core';
import {
  cutOf,
  GRADIENT_AXES,
  holdPart,
  isThere,
  stagedInPlace,
  type Collective,
  type GradientReduction,
  type StagedWeights,
  type Strategy,
  type StrategyContext,
  type StrategyTraits,
  type TapeHooks,
  type TensorShard,
} from '@acc/contract';
import { broadcastVariables, requireSameVariables } from '@acc/ddp';
import { withHeldRegistered } from '@acc/kernels';
import { besideTape } from '@acc/tfjs-internals';
import { cannotDefer } from '../errors.js';
import { requireState } from '../offload/index.js';
import { deferBy, ShardedParameters } from '../sharded-parameters.js';
import { splitReduction } from '../split-reduction.js';
import type { Shard } from '../shard.js';
import { Unit } from '../unit.js';
import { syncsAtApply, unevenExperts } from './errors.js';
import { ExpertPart } from './expert-part.js';
import { ExpertReduction } from './expert-reduction.js';

const AXIS = 'expert';

/**
 * Ranks along the axis `expert` share out experts (Lepikhin et al., "GShard", 2020). Variables that are
 * marked to be cut along that axis are held in parts: weights, gradients and optimizer state. Their
 * layer sends rows to the ranks that have their experts. Gradients of experts are summed over the ranks
 * with the same experts. All other variables are held and reduced by the strategy `others`.
 *
 * @param others `ddp` or `fsdp`. It belongs to the result from now on.
 * @throws AccError `ACC_STRATEGY_CANNOT` for a strategy that reduces gradients at `apply`.
 */
export function expertParallel(others: Strategy): Strategy {
  if (others.traits.syncAt === 'apply') throw syncsAtApply();
  return new ExpertParallel(others);
}

class ExpertParallel implements Strategy {
  readonly name: string;
  readonly traits: StrategyTraits;
  readonly tape?: TapeHooks;
  readonly stages?: StagedWeights;
  /** For all other variables, and for statistics of layers. */
  readonly #others: Strategy;
  #context!: StrategyContext;
  /** The ranks that have different experts. */
  #group!: Collective;
  /** The ranks that have the same experts. */
  #replicas!: Collective;
  #held!: ShardedParameters;
  /** The one whose whole values were read last. */
  #read: Unit | undefined;
  #hasLayers = false;

  readonly getState?: NonNullable<Strategy['getState']>;
  readonly setState?: NonNullable<Strategy['setState']>;

  constructor(others: Strategy) {
    this.name = `${others.name} with experts`;
    this.#others = others;
    const { mixesGradients } = others.traits;
    this.traits = {
      parameters: 'sharded',
      unrecordable: 'ranks exchange numbers of rows that depend on the data',
      accumulates: 'afterReduction',
      ...(mixesGradients && { mixesGradients }),
    };
    if (others.tape) this.tape = others.tape;
    if (others.stages) {
      this.stages = stagedInPlace(others.stages, (variable) => this.#held.ownOf(variable) ?? variable);
    }
    // The state of a hook, if there is one.
    if (others.getState) this.getState = () => others.getState!();
    if (others.setState) this.setState = (state) => others.setState!(state);
  }

  attach(context: StrategyContext): void {
    const { mesh, kernels } = context;
    if (!kernels.defer) throw cannotDefer(kernels.backendName);
    this.#context = context;
    this.#others.attach(context);
    this.#group = mesh.along(AXIS);
    this.#replicas = mesh.over(GRADIENT_AXES.filter((axis) => axis !== AXIS));
    this.#held = new ShardedParameters({ ...context, sharing: this.#group });
  }

  prepareVariables(variables: readonly Variable[], layers?: readonly unknown[]): void {
    const { collective, kernels } = this.#context;
    requireSameVariables(variables, collective);
    this.#held.forgetDisposed((unit) => this.#forget(unit));
    const isCut = (variable: Variable) => cutOf(variable)?.axis === AXIS;
    const fresh = variables.filter((variable) => isCut(variable) && !this.#held.unitOf.has(variable));
    for (const variable of fresh) this.#requireEven(variable);
    this.#others.prepareVariables(
      variables.filter((variable) => !isCut(variable)),
      layers,
    );
    if (fresh.length > 0) this.#held.beginPreparation();
    for (const variable of fresh) {
      // One by one: a variable without memory gets its values here, and keeps its part.
      broadcastVariables([variable], collective);
      const unit = new Unit([variable], {
        collective: this.#group,
        // Experts are whole chunks.
        alignment: 1,
        defer: deferBy(kernels),
        load: (read) => this.#load(read),
        offload: undefined,
      });
      this.#held.add(unit);
      holdPart(variable, new ExpertPart(unit, this.#group, kernels));
    }
  }

  prepareLayers(layers: readonly unknown[]): () => void {
    this.#hasLayers = true;
    return this.#others.prepareLayers!(layers);
  }

  prepareOptimizer(optimizer: Optimizer): void {
    this.#others.prepareOptimizer?.(optimizer);
    this.#held.requireShards(optimizer);
    requireState(optimizer, this.#context.collective);
  }

  beginReduction(variables: readonly Variable[]): GradientReduction {
    const { unitOf } = this.#held;
    const lengthOf = (variable: Variable) => unitOf.get(variable)!.layout.chunk;
    const over = { lengthOf, replicas: this.#replicas, collective: this.#context.mesh.gradientRanks };
    return splitReduction(variables, (variable) => unitOf.has(variable), {
      divided: (some) => new ExpertReduction({ ...over, variables: some }),
      whole: (some) => (some.length > 0 || this.#hasLayers ? this.#others.beginReduction(some) : undefined),
      end: () => this.#release(),
    });
  }

  wholeGradients(grads: readonly (Tensor | null)[], variables: readonly Variable[]): (Tensor | null)[] {
    const exposed = this.#held.wholeGradients(grads, variables);
    return this.#others.wholeGradients?.(exposed, variables) ?? exposed;
  }

  heldGradients(grads: NamedTensorMap): NamedTensorMap | undefined {
    const held = this.#held.heldGradients(grads);
    return this.#others.heldGradients?.(held ?? grads) ?? held;
  }

  update(grads: NamedTensorMap, apply: (grads: NamedTensorMap) => void, optimizer: Optimizer): void {
    this.#release();
    const others = this.#others;
    const shards = this.#held.shardsIn(grads);
    // Stages add places for weights of other ranks.
    const applyChecked = (given: NamedTensorMap) => {
      this.#held.checkState(optimizer, { names: Object.keys(given), shards });
      apply(given);
    };
    const applyAll = (own: NamedTensorMap) =>
      others.update ? others.update(own, applyChecked, optimizer) : applyChecked(own);
    this.#held.update(grads, { optimizer, apply: applyAll, checksState: false });
  }

  globalNorm(grads: NamedTensorMap): Tensor {
    const others = this.#others;
    const { lists } = this.#context.kernels;
    const shards = this.#held.shardsIn(grads).filter(({ variable }) => isThere(grads[variable.name]));
    return tidy(() => {
      // Norms of whole variables take the places of what ranks have of them.
      const norms = shards.map(({ variable }) => lists.norm([grads[variable.name]!]));
      const whole = norms.length > 0 ? unstack(sqrt(this.#group.allReduce(square(stack(norms)), 'sum'))) : [];
      const all = Object.entries(grads).filter(([, grad]) => isThere(grad));
      const given = { ...Object.fromEntries(all), ...namedBy(shards, whole) };
      if (!others.globalNorm) return lists.norm(Object.values(given));
      return withHeldRegistered(shards, () => others.globalNorm!(given));
    });
  }

  allFinite(grads: readonly Tensor[]): boolean {
    return this.#held.allFinite(grads);
  }

  materialize(variables: readonly Variable[]): Tensor[] {
    const others = this.#others;
    return this.#held.materialize(variables, (variable) =>
      others.materialize ? others.materialize([variable])[0]! : variable.clone(),
    );
  }

  shardsOf(variable: Variable): readonly TensorShard[] | undefined {
    const boxes = this.#held.shardsOf(variable);
    if (!boxes) return this.#others.shardsOf?.(variable);
    const ofStage = this.#others.shardsOf?.(this.#held.ownOf(variable)!);
    const isElsewhere = ofStage?.every(({ sizes }) => sizes.includes(0)) ?? false;
    const none = variable.shape.map(() => 0);
    return isElsewhere ? [{ shape: variable.shape, offset: none, sizes: none, start: 0 }] : boxes;
  }

  heldBy(variable: Variable): Variable | undefined {
    const own = this.#held.heldBy(variable);
    return this.#others.heldBy?.(own ?? variable) ?? own;
  }

  detach(): void {
    this.#others.detach?.();
    this.#held.dispose((unit) => this.#forget(unit));
    this.#hasLayers = false;
  }

  /** Whole values stay until others are read, or until the next step. */
  #load(unit: Unit): void {
    besideTape(() => {
      if (this.#read !== unit) this.#release();
      this.#read = unit;
      unit.gather('reading');
    });
  }

  #release(): void {
    this.#read?.release();
    this.#read = undefined;
  }

  #forget(unit: Unit): void {
    if (this.#read === unit) this.#read = undefined;
    for (const { variable } of unit.shards) holdPart(variable, undefined);
  }

  #requireEven(variable: Variable): void {
    const experts = variable.shape[0]!;
    if (experts % this.#group.size !== 0) throw unevenExperts(variable, this.#group.size);
  }
}

function namedBy(shards: readonly Shard[], tensors: readonly Tensor[]): NamedTensorMap {
  return Object.fromEntries(shards.map(({ variable }, i) => [variable.name, tensors[i]!]));
}
