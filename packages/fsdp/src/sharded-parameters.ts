import {
  add,
  all,
  isFinite,
  mul,
  scalar,
  sqrt,
  square,
  tidy,
  type NamedTensorMap,
  type Optimizer,
  type Tensor,
  type Variable,
} from '@tensorflow/tfjs-core';
import {
  isThere,
  type Collective,
  type Defer,
  type KernelLayer,
  type StrategyContext,
  type TensorShard,
} from '@acc/contract';
import { canUpdateShards, isLive, registeredVariable, withShards, withHeldRegistered } from '@acc/kernels';
import { cannotDefer, needsWhole } from './errors.js';
import { ExposedGradients } from './exposed-gradients.js';
import { boxesOf } from './layout.js';
import type { Offload } from './offload/index.js';
import { requireOwnState, type OwnStateContext } from './own-state.js';
import type { Shard } from './shard.js';
import { shardedUpdateOf } from './sharded-update.js';
import type { Unit } from './unit.js';

/** Where parameters are divided. */
export interface ShardedContext extends Pick<StrategyContext, 'collective' | 'kernels'> {
  /** The ranks over which parameters are divided. */
  readonly sharing: Collective;
  readonly offload?: Offload | undefined;
}

/** How an update goes on once it has this rank's elements. */
export interface ShardedUpdateCall {
  readonly optimizer: Optimizer;
  readonly apply: (grads: NamedTensorMap) => void;
  /** False: `apply` calls `checkState`, because it adds gradients. Default true. */
  readonly checksState?: boolean;
}

/**
 * Parameters that are divided over ranks, in units: what strategies do with them besides gathering
 * and reducing.
 */
export class ShardedParameters {
  readonly units: Unit[] = [];
  readonly unitOf = new Map<Variable, Unit>();
  readonly #shardOf = new Map<Variable, Shard>();
  readonly #exposed: ExposedGradients;
  /** How often units were made. */
  #preparations = 0;
  /** At the last check of the state of each optimizer. */
  readonly #checked = new WeakMap<Optimizer, number>();

  constructor(private readonly context: ShardedContext) {
    const { sharing, kernels, offload } = context;
    this.#exposed = new ExposedGradients({ collective: sharing, defer: deferBy(kernels), offload });
  }

  /** Notes that units will be added. Every rank calls it. */
  beginPreparation(): void {
    this.#preparations++;
  }

  add(unit: Unit): void {
    this.units.push(unit);
    for (const shard of unit.shards) {
      this.unitOf.set(shard.variable, unit);
      this.#shardOf.set(shard.variable, shard);
    }
  }

  /** Frees the units all of whose variables a program has disposed. @param forget Called for each. */
  forgetDisposed(forget: (unit: Unit) => void): void {
    for (const unit of [...this.units]) {
      if (unit.shards.some(({ variable }) => isLive(variable))) continue;
      this.units.splice(this.units.indexOf(unit), 1);
      forget(unit);
      for (const { variable } of unit.shards) {
        this.unitOf.delete(variable);
        this.#shardOf.delete(variable);
      }
      unit.dispose();
    }
  }

  /** @param forget Called for each unit before it is freed. */
  dispose(forget: (unit: Unit) => void): void {
    for (const unit of this.units.splice(0)) {
      forget(unit);
      unit.dispose();
    }
    this.unitOf.clear();
    this.#shardOf.clear();
  }

  /** @throws AccError `ACC_STRATEGY_CANNOT` for an optimizer that may need whole tensors. */
  requireShards(optimizer: Optimizer): void {
    if (!canUpdateShards(optimizer)) throw needsWhole(optimizer);
  }

  /** See `Strategy.wholeGradients`. */
  wholeGradients(grads: readonly (Tensor | null)[], variables: readonly Variable[]): (Tensor | null)[] {
    return grads.map((grad, i) => {
      const shard = this.#shardOf.get(variables[i]!);
      return grad && shard ? this.#exposed.expose(grad, shard) : grad;
    });
  }

  /** See `Strategy.heldGradients`. */
  heldGradients(grads: NamedTensorMap): NamedTensorMap | undefined {
    const shards = this.shardsIn(grads).filter(({ variable }) => isThere(grads[variable.name]));
    if (!shards.some(({ variable }) => this.#exposed.has(grads[variable.name]!))) return undefined;
    const held = { ...grads };
    for (const shard of shards) {
      const { name } = shard.variable;
      held[name] = this.#exposed.heldOf(grads[name]!) ?? shard.cut(grads[name]!);
    }
    return held;
  }

  /**
   * Runs an update on this rank's elements. Values of the variables that were in memory are freed.
   * Returns the units that were updated.
   */
  update(grads: NamedTensorMap, { optimizer, apply, checksState = true }: ShardedUpdateCall): Unit[] {
    const { offload, sharing } = this.context;
    const shards = this.shardsIn(grads);
    const units = [...new Set(shards.map(({ variable }) => this.unitOf.get(variable)!))];
    for (const unit of units) unit.takeOverAssigned();
    const own = { ...grads };
    const applyOwn = () => apply(own);
    const given = { optimizer, grads: own, units: units.map((unit) => unit.shards), apply: applyOwn };
    const run = () => {
      if (checksState) this.checkState(optimizer, { names: Object.keys(grads), shards });
      if (offload) offload.update(given);
      else applyOwn();
    };
    try {
      for (const shard of shards) {
        const { name } = shard.variable;
        const grad = grads[name] as Tensor | null;
        if (grad) own[name] = ownOf(grad, shard);
      }
      for (const unit of units) unit.beginUpdate();
      withHeldRegistered(shards, () => withShards(shardedUpdateOf(shards, sharing), run));
    } finally {
      for (const [name, grad] of Object.entries(own)) if (grad !== grads[name]) grad.dispose();
      for (const unit of units) unit.endUpdate();
    }
    for (const unit of units) unit.forget();
    return units;
  }

  /** See `Strategy.globalNorm`. Ranks have all gradients of variables that are not in units. */
  globalNorm(grads: NamedTensorMap): Tensor {
    const { kernels, sharing } = this.context;
    const shards = this.shardsIn(grads);
    const names = new Set(shards.map(({ variable }) => variable.name));
    const own = shards.flatMap(({ variable }) => (grads[variable.name] as Tensor | null) ?? []);
    const others = Object.keys(grads).filter((name) => !names.has(name) && isThere(grads[name]));
    return tidy(() => {
      const squares = sharing.allReduce(square(this.#normOf(own)), 'sum');
      const list = others.map((name) => grads[name]!);
      return sqrt(list.length > 0 ? add(squares, square(kernels.lists.norm(list))) : squares);
    });
  }

  /** See `Strategy.allFinite`. */
  allFinite(grads: readonly Tensor[]): boolean {
    const { collective, offload } = this.context;
    return tidy(() => {
      const filled = grads.filter(({ size }) => size > 0);
      // A norm is finite if all elements are, unless their squares are too large.
      const isSure = filled.length === 0 || Number.isFinite(this.#normOf(filled).dataSync()[0]);
      const isWhole = (grad: Tensor) => all(isFinite(grad)).dataSync()[0] === 1;
      const every = isSure || (offload?.every(filled, isWhole) ?? filled.every(isWhole));
      return collective.allReduce(scalar(Number(every)), 'min').dataSync()[0] === 1;
    });
  }

  /** See `Strategy.materialize`. @param other Gives a variable that is not in a unit. */
  materialize(
    variables: readonly Variable[],
    other: (variable: Variable) => Tensor = (variable) => variable.clone(),
  ): Tensor[] {
    return variables.map((variable) => {
      const shard = this.#shardOf.get(variable);
      if (!shard) return other(variable);
      const unit = this.unitOf.get(variable)!;
      unit.takeOverAssigned();
      const whole = unit.wholeOf(shard);
      if (whole) return whole;
      unit.gather('reading');
      return tidy(() => mul(variable, 1));
    });
  }

  /** This rank's elements of a variable. Undefined if it is not in a unit. */
  ownOf(variable: Variable): Variable | undefined {
    return this.#shardOf.get(variable)?.own;
  }

  /** See `Strategy.shardsOf`. */
  shardsOf(variable: Variable): readonly TensorShard[] | undefined {
    const shard = this.#shardOf.get(variable);
    return shard && boxesOf(variable.shape, shard.range);
  }

  /** See `Strategy.heldBy`. */
  heldBy(variable: Variable): Variable | undefined {
    this.unitOf.get(variable)?.takeOverAssigned();
    return this.#shardOf.get(variable)?.own;
  }

  /**
   * Checks the state at the first update, and at the first one after new units were made. Every rank
   * calls it.
   *
   * @throws AccError `ACC_STATE_MISMATCH`.
   */
  checkState(optimizer: Optimizer, update: Omit<OwnStateContext, 'collective'>): void {
    if (this.#checked.get(optimizer) === this.#preparations) return;
    requireOwnState(optimizer, { ...update, collective: this.context.collective });
    this.#checked.set(optimizer, this.#preparations);
  }

  #normOf(grads: readonly Tensor[]): Tensor {
    return this.context.offload?.norm(grads) ?? this.context.kernels.lists.norm(grads);
  }

  /** The shards of the variables in a record, which has them by name. */
  shardsIn(grads: NamedTensorMap): Shard[] {
    return Object.keys(grads).flatMap((name) => this.#shardOf.get(registeredVariable(name)!) ?? []);
  }
}

/** Creates deferred tensors on the backend that is active then. */
export function deferBy(kernels: KernelLayer): Defer {
  return (info, load) => {
    if (!kernels.defer) throw cannotDefer(kernels.backendName);
    return kernels.defer(info, load);
  };
}

/** This rank's elements of a gradient, which has only these, or is a whole one of a program. */
function ownOf(grad: Tensor, shard: Shard): Tensor {
  const isOwn = grad.shape.length === 1 && grad.size === shard.length;
  return isOwn ? grad : shard.cut(grad);
}
