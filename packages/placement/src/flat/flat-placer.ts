import { mul, tidy, type Optimizer, type Tensor, type Variable } from '@tensorflow/tfjs-core';
import type { Collective, Defer, KernelLayer, Strategy, StrategyContext } from '@acc/contract';
import { canUpdateShards, frozenPacked, isLive } from '@acc/kernels';
import type { DistributedVariable } from '../distributed-variable.js';
import type { DistributedUpdate, GradientLists, Placer } from '../placer.js';
import { cannotDefer, needsWhole } from './errors.js';
import { ExposedGradients } from './exposed-gradients.js';
import { requireLocalState } from './local-state-check.js';
import type { PackedShard } from './packed-shard.js';
import type { PackedUnit } from './packed-unit.js';
import { PackedUnits } from './packed-units.js';
import type { Shard } from './shard.js';
import type { ShardStore } from './shard-store.js';
import type { Unit } from './unit.js';

/** Where parameters are divided. */
export interface ShardedContext extends Pick<StrategyContext, 'collective' | 'kernels'> {
  /** The ranks over which parameters are divided. */
  readonly sharing: Collective;
  readonly offload?: ShardStore | undefined;
}

/** The work on variables in units besides gathering and reducing. */
type SharedWork = Pick<
  Placer<Shard | PackedShard>,
  'distributed' | 'settle' | 'materialize' | 'expose' | 'isExposed' | 'exposed' | 'update' | 'applyUpdate'
>;

/** A parallelism that divides variables over ranks by their elements, in units. */
export abstract class FlatPlacer implements SharedWork {
  abstract readonly inner: Strategy;
  protected readonly units: Unit[] = [];
  protected readonly unitOf = new Map<Variable, Unit>();
  protected readonly packed = new PackedUnits((unit) => this.forget(unit));
  #sharded!: ShardedContext;
  #exposed!: ExposedGradients;
  /** How often units were made. */
  #preparations = 0;
  /** At the last check of the state of each optimizer. */
  readonly #checked = new WeakMap<Optimizer, number>();

  /** Called at `attach`. */
  protected share(context: ShardedContext): void {
    const { sharing, kernels, offload } = context;
    this.#sharded = context;
    this.#exposed = new ExposedGradients({ collective: sharing, defer: deferBy(kernels), offload });
  }

  get group(): Collective {
    return this.#sharded.sharing;
  }

  get lists(): GradientLists | undefined {
    return this.#sharded.offload;
  }

  /** Called before a unit is freed. */
  protected abstract forget(unit: Unit | PackedUnit): void;

  /** Called when an update has ended. The values of its variables that were in memory are freed. */
  protected updated(_units: readonly Unit[]): void {}

  /** Notes that units will be added. Every rank calls it. */
  protected beginPreparation(): void {
    this.#preparations++;
  }

  protected add(unit: Unit): void {
    this.units.push(unit);
    for (const { full } of unit.shards) this.unitOf.set(full, unit);
  }

  /** Frees the units all of whose variables a program has disposed. */
  protected forgetDisposed(): void {
    this.packed.forgetDisposed();
    for (const unit of [...this.units]) {
      if (unit.shards.some(({ full }) => isLive(full))) continue;
      this.units.splice(this.units.indexOf(unit), 1);
      this.forget(unit);
      for (const { full } of unit.shards) this.unitOf.delete(full);
      unit.dispose();
    }
  }

  protected disposeUnits(): void {
    this.packed.dispose();
    for (const unit of this.units.splice(0)) {
      this.forget(unit);
      unit.dispose();
    }
    this.unitOf.clear();
  }

  distributed(variable: Variable): Shard | PackedShard | undefined {
    const shards = this.unitOf.get(variable)?.shards;
    return shards?.find(({ full }) => full === variable) ?? this.packed.shards.get(variable);
  }

  settle({ full }: Shard | PackedShard): void {
    this.unitOf.get(full)?.takeOverAssigned();
  }

  materialize(shard: Shard | PackedShard, local: () => Tensor): Tensor {
    const unit = this.unitOf.get(shard.full);
    unit?.takeOverAssigned();
    const full = unit?.wholeOf(shard as Shard, local);
    if (full) return full;
    unit?.gather('reading');
    return tidy(() => mul(shard.full, 1));
  }

  expose(shard: Shard | PackedShard, local: Tensor): Tensor {
    return this.#exposed.expose(local, shard);
  }

  isExposed(grad: Tensor): boolean {
    return this.#exposed.has(grad);
  }

  exposed(_shard: Shard | PackedShard, grad: Tensor): Tensor {
    return this.#exposed.localOf(grad);
  }

  update({ distributed }: DistributedUpdate<Shard | PackedShard>, run: () => void): void {
    const units = unitsOf(distributed, this.unitOf);
    for (const unit of units) unit.takeOverAssigned();
    try {
      for (const unit of units) unit.beginUpdate();
      run();
    } finally {
      for (const unit of units) unit.endUpdate();
    }
    for (const unit of units) unit.forget();
    this.updated(units);
  }

  /** The first update, and the first one after new units were made, checks the optimizer's state. */
  applyUpdate(
    { optimizer, grads, distributed }: DistributedUpdate<Shard | PackedShard>,
    apply: () => void,
  ): void {
    const { collective, offload } = this.#sharded;
    if (this.#checked.get(optimizer) !== this.#preparations) {
      requireLocalState(optimizer, { names: Object.keys(grads), distributed, collective });
      this.#checked.set(optimizer, this.#preparations);
    }
    const units = unitsOf(distributed, this.unitOf).map(({ shards }) => shards);
    if (offload) offload.update({ optimizer, grads, units, apply });
    else apply();
  }
}

/** @throws AccError `ACC_QUANTIZED_FROZEN` for a packed variable. */
function unitsOf(
  distributed: ReadonlyMap<string, DistributedVariable>,
  unitOf: ReadonlyMap<Variable, Unit>,
): Unit[] {
  const units = Array.from(distributed.values(), ({ full }) => {
    const unit = unitOf.get(full);
    if (!unit) throw frozenPacked(full);
    return unit;
  });
  return [...new Set(units)];
}

/** @throws AccError `ACC_STRATEGY_CANNOT` for an optimizer that may need whole tensors. */
export function requireShards(optimizer: Optimizer): void {
  if (!canUpdateShards(optimizer)) throw needsWhole(optimizer);
}

/** Creates deferred tensors on the backend that is active then. */
export function deferBy(kernels: KernelLayer): Defer {
  return (info, load) => {
    if (!kernels.defer) throw cannotDefer(kernels.backendName);
    return kernels.defer(info, load);
  };
}
