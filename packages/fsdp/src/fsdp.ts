import {
  add,
  all,
  isFinite,
  mul,
  reshape,
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
  GRADIENT_AXES,
  requireSameOptions,
  type Collective,
  type Defer,
  type KernelLayer,
  type GradientReduction,
  type Strategy,
  type StrategyContext,
  type StrategyTraits,
  type TapeHooks,
  type TensorShard,
} from '@acc/contract';
import { ddp, requireSameVariables } from '@acc/ddp';
import { canUpdateShards, isLive, registeredVariable, withHeldRegistered, withShards } from '@acc/kernels';
import { besideTape } from '@acc/tfjs-internals';
import { cannotDefer, needsWhole, withoutMesh } from './errors.js';
import { ExposedGradients } from './exposed-gradients.js';
import { boxesOf } from './layout.js';
import { Gathering } from './gathering.js';
import { openOffload, requireState, type Offload } from './offload/index.js';
import {
  comparedOptions,
  resolveFsdpOptions,
  type FsdpDtype,
  type FsdpOptions,
  type ResolvedFsdpOptions,
} from './options.js';
import { requireOwnState, type OwnStateContext } from './own-state.js';

import { RoundedBuffers } from './rounded-buffers.js';
import { requireSameUnits } from './same-units.js';
import type { Shard } from './shard.js';
import { shardedUpdateOf } from './sharded-update.js';
import { ShardReduction } from './shard-reduction.js';
import { splitReduction } from './split-reduction.js';
import { Unit, type WireDtype } from './unit.js';
import { frozenIn, unitsOf } from './wrap.js';

/**
 * Sharded data parallelism: parameters, gradients and optimizer state are divided over ranks
 * (Rajbhandari et al., "ZeRO: Memory Optimizations Toward Training Trillion Parameter Models", SC
 * 2020; PyTorch's FSDP). Trained float32 variables with at least one dim are divided, and in stage 3
 * weights of frozen layers; others are treated as by `ddp`.
 *
 * @throws AccError `ACC_UNKNOWN_OPTION`, `ACC_INVALID_OPTION`.
 */
export function fsdp(options?: FsdpOptions): Strategy {
  const resolved = resolveFsdpOptions(options);
  const strategy = resolved.stage === 0 ? wholeBy(resolved) : new Fsdp(resolved);
  precisions.set(strategy, resolved.mixedPrecision.param);
  return strategy;
}

const precisions = new WeakMap<Strategy, FsdpDtype | undefined>();

/** `mixedPrecision.param` of a strategy from {@link fsdp}. */
export function precisionOf(strategy: Strategy): FsdpDtype | undefined {
  return precisions.get(strategy);
}

class Fsdp implements Strategy {
  readonly name = 'fsdp';
  readonly traits: StrategyTraits;
  readonly tape?: TapeHooks;
  readonly #options: ResolvedFsdpOptions;
  /** For variables that are not divided, and for statistics of layers. */
  readonly #whole: Strategy;
  readonly #buffers: RoundedBuffers;
  readonly #gathering: Gathering;
  readonly #units: Unit[] = [];
  readonly #unitOf = new Map<Variable, Unit>();
  readonly #shardOf = new Map<Variable, Shard>();
  #context!: StrategyContext;
  /** The ranks over which parameters are divided. */
  #sharing!: Collective;
  /** The ranks that have the same shards. */
  #replicas: Collective | undefined;
  #exposed!: ExposedGradients;
  #offload: Offload | undefined;
  #hasLayers = false;
  /** How often units were made. */
  #preparations = 0;
  /** At the last check of the state of each optimizer. */
  readonly #checked = new WeakMap<Optimizer, number>();

  constructor(options: ResolvedFsdpOptions) {
    this.#options = options;
    this.#whole = wholeBy(options);
    this.#buffers = new RoundedBuffers(wireDtypeOf(options.mixedPrecision.buffer));
    this.traits = {
      parameters: 'sharded',
      isRecordable: false,
      accumulates: options.stage === 1 ? 'beforeReduction' : 'afterReduction',
    };
    this.#gathering = new Gathering(options, () => this.#units.length);
    if (options.stage === 3) {
      this.tape = {
        before: (variables, phase) => this.#gathering.before(this.#unitsWith(variables), phase),
        after: (variables, phase) => this.#gathering.after(this.#unitsWith(variables), phase),
        end: () => this.#gathering.release(),
      };
    }
  }

  attach(context: StrategyContext): void {
    this.#context = context;
    if (!context.kernels.defer) throw cannotDefer(context.kernels.backendName);
    const { mesh, collective } = context;
    const hasAxis = mesh.axes.includes('fsdp');
    if (this.#options.isHybrid && !hasAxis) throw withoutMesh();
    this.#sharing = hasAxis ? mesh.along('fsdp') : collective;
    const replicas = hasAxis ? mesh.over(GRADIENT_AXES.filter((axis) => axis !== 'fsdp')) : undefined;
    this.#replicas = replicas && replicas.size > 1 ? replicas : undefined;
    this.#buffers.attach(context.kernels);
    this.#whole.attach(context);
    requireSameOptions('fsdp', comparedOptions(this.#options), context.collective);
    const { offload } = this.#options;
    this.#offload = offload && openOffload(offload, context);
    this.#exposed = new ExposedGradients({
      collective: this.#sharing,
      defer: deferBy(context.kernels),
      offload: this.#offload,
    });
  }

  prepareVariables(variables: readonly Variable[], layers: readonly unknown[] = []): void {
    const { collective, kernels } = this.#context;
    requireSameVariables(variables, collective);
    this.#forgetDisposed();
    const fresh = variables.filter((variable) => canDivide(variable) && !this.#unitOf.has(variable));
    const frozen = this.#keepsWhole ? new Set<Variable>() : frozenIn(layers);
    // Frozen weights have no gradients, so they form units of their own.
    const groups = [fresh.filter(({ trainable }) => trainable), fresh.filter((one) => frozen.has(one))];
    const divided = new Set(groups.flat());
    this.#whole.prepareVariables(variables.filter((variable) => !divided.has(variable)));
    const lists = groups.flatMap((some) => unitsOf(some, layers, this.#options));
    requireSameUnits(lists, collective);
    if (lists.length > 0) this.#preparations++;
    const { param, reduce } = this.#options.mixedPrecision;
    const wire = { param: wireDtypeOf(param), reduce: wireDtypeOf(reduce) };
    const replicas = this.#replicas;
    const load = (unit: Unit) => this.#load(unit);
    // Programs may change the backend at any time.
    const defer = deferBy(kernels);
    for (const list of lists) {
      // One by one: a variable without memory gets its values here, and loses them in its unit.
      for (const variable of list) this.#whole.prepareVariables([variable]);
      const divide = this.#keepsWhole ? () => kernels.divideMemory : undefined;
      const shared = { collective: this.#sharing, replicas, wire };
      const context = { ...shared, defer, load, divide, offload: this.#offload };
      const unit = new Unit(list, context);
      this.#units.push(unit);
      for (const shard of unit.shards) {
        this.#unitOf.set(shard.variable, unit);
        this.#shardOf.set(shard.variable, shard);
      }
      if (this.#keepsWhole) unit.startGather('reading');
    }
  }

  prepareLayers(layers: readonly unknown[]): () => void {
    this.#hasLayers = true;
    const undos = [this.#whole.prepareLayers!(layers), this.#buffers.add(layers)];
    return () => {
      for (const undo of undos) undo();
    };
  }

  prepareOptimizer(optimizer: Optimizer): void {
    if (!canUpdateShards(optimizer)) throw needsWhole(optimizer);
    this.#offload?.requireKnown(optimizer);
    requireState(optimizer, this.#context.collective);
  }

  beginReduction(variables: readonly Variable[]): GradientReduction {
    const { collective } = this.#context;
    this.#offload?.beginPass();
    const end = () => {
      this.#buffers.round();
      if (!this.#keepsWhole) this.#gathering.endPass();
    };
    return splitReduction(variables, (variable) => this.#unitOf.has(variable), {
      divided: (some) => new ShardReduction({ variables: some, unitOf: this.#unitOf, collective }),
      whole: (some) => (some.length > 0 || this.#hasLayers ? this.#whole.beginReduction(some) : undefined),
      end,
    });
  }

  wholeGradients(grads: readonly (Tensor | null)[], variables: readonly Variable[]): (Tensor | null)[] {
    return grads.map((grad, i) => {
      const shard = this.#shardOf.get(variables[i]!);
      return grad && shard ? this.#exposed.expose(grad, shard) : grad;
    });
  }

  heldGradients(grads: NamedTensorMap): NamedTensorMap | undefined {
    const shards = this.#shardsOf(grads).filter(({ variable }) => isThere(grads[variable.name]));
    if (!shards.some(({ variable }) => this.#exposed.has(grads[variable.name]!))) return undefined;
    const held = { ...grads };
    for (const shard of shards) {
      const { name } = shard.variable;
      held[name] = this.#exposed.heldOf(grads[name]!) ?? shard.cut(grads[name]!);
    }
    return held;
  }

  update(grads: NamedTensorMap, applyGradients: (grads: NamedTensorMap) => void, optimizer: Optimizer): void {
    const shards = this.#shardsOf(grads);
    const units = [...new Set(shards.map(({ variable }) => this.#unitOf.get(variable)!))];
    for (const unit of units) unit.takeOverAssigned();
    const own = { ...grads };
    const apply = () => applyGradients(own);
    const given = { optimizer, grads: own, units: units.map((unit) => unit.shards), apply };
    const run = () => {
      this.#checkState(optimizer, { names: Object.keys(grads), shards });
      if (this.#offload) this.#offload.update(given);
      else apply();
    };
    try {
      for (const shard of shards) {
        const { name } = shard.variable;
        const grad = grads[name] as Tensor | null;
        if (grad) own[name] = ownOf(grad, shard);
      }
      for (const unit of units) unit.beginUpdate();
      withHeldRegistered(shards, () => withShards(shardedUpdateOf(shards, this.#sharing), run));
    } finally {
      for (const [name, grad] of Object.entries(own)) if (grad !== grads[name]) grad.dispose();
      for (const unit of units) unit.endUpdate();
    }
    for (const unit of units) unit.forget();
    if (this.#keepsWhole) for (const unit of units) unit.startGather('reading');
  }

  globalNorm(grads: NamedTensorMap): Tensor {
    const { kernels } = this.#context;
    const shards = this.#shardsOf(grads);
    const names = new Set(shards.map(({ variable }) => variable.name));
    const own = shards.flatMap(({ variable }) => (grads[variable.name] as Tensor | null) ?? []);
    const others = Object.keys(grads).flatMap((name) => (names.has(name) ? [] : (grads[name] ?? [])));
    return tidy(() => {
      const squares = this.#sharing.allReduce(square(this.#normOf(own)), 'sum');
      return sqrt(others.length > 0 ? add(squares, square(kernels.lists.norm(others))) : squares);
    });
  }

  allFinite(grads: readonly Tensor[]): boolean {
    const { collective } = this.#context;
    return tidy(() => {
      const filled = grads.filter(({ size }) => size > 0);
      // A norm is finite if all elements are, unless their squares are too large.
      const isSure = filled.length === 0 || Number.isFinite(this.#normOf(filled).dataSync()[0]);
      const isWhole = (grad: Tensor) => all(isFinite(grad)).dataSync()[0] === 1;
      const every = isSure || (this.#offload?.every(filled, isWhole) ?? filled.every(isWhole));
      return collective.allReduce(scalar(Number(every)), 'min').dataSync()[0] === 1;
    });
  }

  changeGradients(grads: readonly Tensor[], change: (list: Tensor[]) => Tensor[]): Tensor[] {
    return this.#offload?.changeGradients(grads, change) ?? change([...grads]);
  }

  materialize(variables: readonly Variable[]): Tensor[] {
    const sharing = this.#sharing;
    return variables.map((variable) => {
      const shard = this.#shardOf.get(variable);
      if (!shard) return variable.clone();
      const unit = this.#unitOf.get(variable)!;
      unit.takeOverAssigned();
      // Whether a gather was started is the same on all ranks; whether it has ended is not.
      if (!unit.isWanted) return tidy(() => reshape(sharing.allGather(shard.own), variable.shape));
      unit.gather('reading');
      return tidy(() => mul(variable, 1));
    });
  }

  shardsOf(variable: Variable): readonly TensorShard[] | undefined {
    const shard = this.#shardOf.get(variable);
    return shard && boxesOf(variable.shape, shard.range);
  }

  heldBy(variable: Variable): Variable | undefined {
    this.#unitOf.get(variable)?.takeOverAssigned();
    return this.#shardOf.get(variable)?.own;
  }

  detach(): void {
    this.#whole.detach?.();
    for (const unit of this.#units.splice(0)) {
      this.#gathering.forget(unit);
      unit.dispose();
    }
    this.#unitOf.clear();
    this.#shardOf.clear();
    this.#offload?.dispose();
    this.#offload = undefined;
    this.#hasLayers = false;
    this.#buffers.clear();
  }

  /** Checks the state at the first update, and at the first one after new units were made. */
  #checkState(optimizer: Optimizer, update: Omit<OwnStateContext, 'collective'>): void {
    if (this.#checked.get(optimizer) === this.#preparations) return;
    requireOwnState(optimizer, { ...update, collective: this.#context.collective });
    this.#checked.set(optimizer, this.#preparations);
  }

  /** Frees the shards of variables that a program has disposed. */
  #forgetDisposed(): void {
    for (const unit of [...this.#units]) {
      if (unit.shards.some(({ variable }) => isLive(variable))) continue;
      this.#units.splice(this.#units.indexOf(unit), 1);
      this.#gathering.forget(unit);
      for (const { variable } of unit.shards) {
        this.#unitOf.delete(variable);
        this.#shardOf.delete(variable);
      }
      unit.dispose();
    }
  }

  /** Whether every rank has whole parameters between steps. */
  get #keepsWhole(): boolean {
    return this.#options.stage < 3;
  }

  #normOf(grads: readonly Tensor[]): Tensor {
    return this.#offload?.norm(grads) ?? this.#context.kernels.lists.norm(grads);
  }

  #load(unit: Unit): void {
    if (this.#keepsWhole) besideTape(() => unit.gather('reading'));
    else this.#gathering.load(unit);
  }

  #unitsWith(variables: readonly Variable[]): Unit[] {
    const units = new Set<Unit>();
    for (const variable of variables) {
      const unit = this.#unitOf.get(variable);
      if (unit) units.add(unit);
    }
    return [...units];
  }

  /** The shards of the variables in a record, which has them by name. */
  #shardsOf(grads: NamedTensorMap): Shard[] {
    return Object.keys(grads).flatMap((name) => this.#shardOf.get(registeredVariable(name)!) ?? []);
  }
}

/** The strategy for variables of which every rank has all elements. */
function wholeBy({ mixedPrecision: { reduce = 'float32' } }: ResolvedFsdpOptions): Strategy {
  return ddp(reduce === 'float32' ? {} : { commHook: reduce });
}

function wireDtypeOf(dtype: FsdpDtype = 'float32'): WireDtype {
  const dtypes = { float32: undefined, bf16: 'bfloat16', fp16: 'float16' } as const;
  return dtypes[dtype];
}

/** Creates deferred tensors on the backend that is active then. */
function deferBy(kernels: KernelLayer): Defer {
  return (info, load) => {
    if (!kernels.defer) throw cannotDefer(kernels.backendName);
    return kernels.defer(info, load);
  };
}

/** In tfjs's records, missing gradients are null or undefined. */
const isThere = (grad: Tensor | null | undefined): boolean => grad != null;

function canDivide({ dtype, shape, size }: Variable): boolean {
  return dtype === 'float32' && shape.length > 0 && size > 0;
}

/** This rank's elements of a gradient, which has only these, or is a whole one of a program. */
function ownOf(grad: Tensor, shard: Shard): Tensor {
  const isOwn = grad.shape.length === 1 && grad.size === shard.length;
  return isOwn ? grad : shard.cut(grad);
}
