import type { Optimizer, Variable } from '@tensorflow/tfjs-core';
import {
  cutOf,
  GRADIENT_AXES,
  holdPart,
  type Collective,
  type GradientReduction,
  type StagedWeights,
  type Strategy,
  type StrategyContext,
  type StrategyState,
  type StrategyTraits,
  type TapeHooks,
} from '@acc/contract';
import { broadcastVariables, requireSameVariables } from '@acc/ddp';
import {
  cannotDefer,
  deferBy,
  FlatPlacer,
  placedStrategy,
  requireShards,
  splitReduction,
  stagedInPlace,
  Unit,
  type DistributedUpdate,
  type Placer,
  type PackedShard,
  type PackedUnit,
  type Shard,
} from '@acc/placement';
import { besideTape } from '@acc/tfjs-internals';
import { syncsAtApply, unevenExperts } from './errors.js';
import { ExpertPart } from './expert-part.js';
import { ExpertReduction } from './expert-reduction.js';

const AXIS = 'expert';

export interface ExpertOptions {
  /** Called by all ranks with each optimizer that is prepared. It may throw on all of them. */
  readonly checkOptimizer?: (optimizer: Optimizer, collective: Collective) => void;
}

/**
 * Ranks along the axis `expert` share out experts (Lepikhin et al., "GShard", 2020). Variables that are
 * marked to be cut along that axis are held in parts: weights, gradients and optimizer state. Their
 * layer sends rows to the ranks that have their experts. Gradients of experts are summed over the ranks
 * with the same experts. All other variables are held and reduced by the strategy `others`.
 *
 * @param others `ddp` or `fsdp`. It belongs to the result from now on.
 * @throws AccError `ACC_STRATEGY_CANNOT` for a strategy that reduces gradients at `apply`.
 */
export function expertParallel(others: Strategy, options: ExpertOptions = {}): Strategy {
  if (others.traits.syncAt === 'apply') throw syncsAtApply();
  return placedStrategy(new ExpertParallel(others, options));
}

class ExpertParallel extends FlatPlacer implements Placer<Shard | PackedShard> {
  readonly name: string;
  readonly traits: StrategyTraits;
  readonly tape?: TapeHooks;
  readonly stages?: StagedWeights;
  readonly state?: StrategyState;
  #context!: StrategyContext;
  /** The ranks that have the same experts. */
  #replicas!: Collective;
  /** The one whose whole values were read last. */
  #read: Unit | undefined;
  #hasLayers = false;

  /** @param inner For all other variables, and for statistics of layers. */
  constructor(
    readonly inner: Strategy,
    readonly options: ExpertOptions,
  ) {
    super();
    this.name = `${inner.name} with experts`;
    const { mixesGradients } = inner.traits;
    this.traits = {
      parameters: 'sharded',
      unrecordable: 'ranks exchange numbers of rows that depend on the data',
      accumulates: 'afterReduction',
      ...(mixesGradients && { mixesGradients }),
    };
    if (inner.tape) this.tape = inner.tape;
    if (inner.stages) {
      this.stages = stagedInPlace(inner.stages, (variable) => this.distributed(variable)?.local ?? variable);
    }
    // The state of a hook, if there is one.
    if (inner.state) this.state = inner.state;
  }

  attach(context: StrategyContext): void {
    const { mesh, kernels } = context;
    if (!kernels.defer) throw cannotDefer(kernels.backendName);
    this.#context = context;
    this.inner.attach(context);
    this.share({ ...context, sharing: mesh.along(AXIS) });
    this.#replicas = mesh.over(GRADIENT_AXES.filter((axis) => axis !== AXIS));
  }

  prepareVariables(variables: readonly Variable[], layers?: readonly unknown[]): void {
    const { collective, kernels } = this.#context;
    requireSameVariables(variables, collective);
    this.forgetDisposed();
    const isCut = (variable: Variable) => cutOf(variable)?.axis === AXIS;
    const fresh = variables.filter((variable) => isCut(variable) && !this.unitOf.has(variable));
    for (const variable of fresh) this.#requireEven(variable);
    this.inner.prepareVariables(
      variables.filter((variable) => !isCut(variable)),
      layers,
    );
    if (fresh.length > 0) this.beginPreparation();
    for (const variable of fresh) {
      // One by one: a variable without memory gets its values here, and keeps its part.
      broadcastVariables([variable], collective);
      const unit = new Unit([variable], {
        collective: this.group,
        // Experts are whole chunks.
        alignment: 1,
        defer: deferBy(kernels),
        load: (read) => this.#load(read),
      });
      this.add(unit);
      holdPart(variable, new ExpertPart(unit, this.group, kernels));
    }
  }

  prepareLayers(layers: readonly unknown[]): () => void {
    this.#hasLayers = true;
    return this.inner.prepareLayers!(layers);
  }

  prepareOptimizer(optimizer: Optimizer): void {
    this.inner.prepareOptimizer?.(optimizer);
    requireShards(optimizer);
    this.options.checkOptimizer?.(optimizer, this.#context.collective);
  }

  beginReduction(variables: readonly Variable[]): GradientReduction {
    const { unitOf, inner } = this;
    const lengthOf = (variable: Variable) => unitOf.get(variable)!.layout.chunk;
    const over = { lengthOf, replicas: this.#replicas, collective: this.#context.mesh.gradientRanks };
    return splitReduction(variables, (variable) => unitOf.has(variable), {
      divided: (some) => new ExpertReduction({ ...over, variables: some }),
      whole: (some) => (some.length > 0 || this.#hasLayers ? inner.beginReduction(some) : undefined),
      end: () => this.#release(),
    });
  }

  override update(update: DistributedUpdate<Shard | PackedShard>, run: () => void): void {
    this.#release();
    super.update(update, run);
  }

  detach(): void {
    this.inner.detach?.();
    this.disposeUnits();
    this.#hasLayers = false;
  }

  protected override forget(unit: Unit | PackedUnit): void {
    if (this.#read === unit) this.#read = undefined;
    for (const { full } of unit.shards) holdPart(full, undefined);
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

  #requireEven(variable: Variable): void {
    const experts = variable.shape[0]!;
    if (experts % this.group.size !== 0) throw unevenExperts(variable, this.group.size);
  }
}
