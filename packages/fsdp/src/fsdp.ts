import type { Optimizer, Variable } from '@tensorflow/tfjs-core';
import {
  GRADIENT_AXES,
  requireSameOptions,
  type Collective,
  type GradientReduction,
  type Strategy,
  type StrategyContext,
  type StrategyTraits,
  type TapeHooks,
} from '@acc/contract';
import { ddp, requireSameVariables } from '@acc/ddp';
import { listedFor, packedOf } from '@acc/kernels';
import {
  cannotDefer,
  deferBy,
  FlatPlacer,
  PackedUnit,
  placedStrategy,
  requireShards,
  splitReduction,
  Unit,
  type GatheredUnit,
  type PackedShard,
  type Placer,
  type Shard,
  type WireDtype,
} from '@acc/placement';
import { besideTape } from '@acc/tfjs-internals';
import { Arrival } from './arrival.js';
import { withoutMesh } from './errors.js';
import { Gathering } from './gathering.js';
import { openOffload, requireState, type Offload } from './offload/index.js';
import {
  comparedOptions,
  resolveFsdpOptions,
  type FsdpDtype,
  type FsdpOptions,
  type ResolvedFsdpOptions,
} from './options.js';
import { RoundedBuffers } from './rounded-buffers.js';
import { requireSameUnits } from './same-units.js';
import { ShardReduction } from './shard-reduction.js';
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
  const strategy = resolved.stage === 0 ? wholeBy(resolved) : placedStrategy(new Fsdp(resolved));
  precisions.set(strategy, resolved.mixedPrecision.param);
  return strategy;
}

const precisions = new WeakMap<Strategy, FsdpDtype | undefined>();

/** `mixedPrecision.param` of a strategy from {@link fsdp}. */
export function precisionOf(strategy: Strategy): FsdpDtype | undefined {
  return precisions.get(strategy);
}

class Fsdp extends FlatPlacer implements Placer<Shard | PackedShard> {
  readonly name = 'fsdp';
  readonly traits: StrategyTraits;
  readonly tape: TapeHooks;
  readonly #options: ResolvedFsdpOptions;
  /** For variables that are not divided, and for statistics of layers. */
  readonly inner: Strategy;
  readonly #buffers: RoundedBuffers;
  readonly #gathering: Gathering;
  readonly #arrival = new Arrival(
    (variables) => this.#unitsWith(variables),
    () => this.#context.kernels.recorder?.isRecording ?? false,
  );
  #context!: StrategyContext;
  /** The ranks over which parameters are divided. */
  #sharing!: Collective;
  /** The ranks that have the same shards. */
  #replicas: Collective | undefined;
  #offload: Offload | undefined;
  #hasLayers = false;
  /** The reductions of passes that are under way, or have failed. */
  readonly #reductions = new Set<ShardReduction>();
  #unwatch: (() => void) | undefined;

  constructor(options: ResolvedFsdpOptions) {
    super();
    this.#options = options;
    this.inner = wholeBy(options);
    this.#buffers = new RoundedBuffers(wireDtypeOf(options.mixedPrecision.buffer));
    this.traits = {
      parameters: 'sharded',
      recordsAlone: true,
      ...(options.offload && { unrecordable: 'fsdp.offload moves values away' }),
      accumulates: options.stage === 1 ? 'beforeReduction' : 'afterReduction',
    };
    this.#gathering = new Gathering(options, () => this.units.length + this.packed.list.length);
    this.tape = options.stage === 3 ? this.#gathersForUse() : this.#arrival.hooks;
  }

  #gathersForUse(): TapeHooks {
    const gathering = this.#gathering;
    const unitsWith = (variables: readonly Variable[]) => [
      ...this.#unitsWith(variables),
      ...unitsOfVariables(variables, this.packed.of),
    ];
    return {
      what: 'gathering of sharded parameters',
      before: (variables, phase) => gathering.before(unitsWith(variables), phase),
      after: (variables, phase) => gathering.after(unitsWith(variables), phase),
      isInert: (variables, phase) => gathering.isInert(unitsWith(variables), phase),
      end: () => gathering.release(),
    };
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
    this.inner.attach(context);
    requireSameOptions('fsdp', comparedOptions(this.#options), context.collective);
    const { offload } = this.#options;
    this.#offload = offload && openOffload(offload, context);
    if (!this.#keepsWhole) this.#unwatch = this.#gathering.watch();
    this.share({ ...context, sharing: this.#sharing, offload: this.#offload });
  }

  prepareVariables(variables: readonly Variable[], layers: readonly unknown[] = []): void {
    const { collective, kernels } = this.#context;
    requireSameVariables(variables, collective);
    this.forgetDisposed();
    const fresh = variables.filter((variable) => canDivide(variable) && !this.unitOf.has(variable));
    const frozen = this.#keepsWhole ? new Set<Variable>() : frozenIn(layers);
    // Frozen weights have no gradients, so they form units of their own.
    const groups = [
      fresh.filter(({ trainable }) => trainable),
      fresh.filter((one) => frozen.has(listedFor(one))),
    ];
    const packed = this.#keepsWhole ? [] : this.packed.fresh(variables);
    const divided = new Set([...groups.flat(), ...packed]);
    this.inner.prepareVariables(variables.filter((variable) => !divided.has(variable)));
    const lists = groups.flatMap((some) => unitsOf(some, layers, this.#options));
    const packedLists = unitsOf(packed, layers, this.#options);
    requireSameUnits([...lists, ...packedLists], collective);
    if (lists.length > 0) this.beginPreparation();
    const { param, reduce } = this.#options.mixedPrecision;
    const wire = { param: wireDtypeOf(param), reduce: wireDtypeOf(reduce) };
    const replicas = this.#replicas;
    const load = (unit: Unit) => this.#load(unit);
    // Programs may change the backend at any time.
    const defer = deferBy(kernels);
    for (const list of lists) {
      // One by one: a variable without memory gets its values here, and loses them in its unit.
      for (const variable of list) this.inner.prepareVariables([variable]);
      const divide = this.#keepsWhole ? () => kernels.divideMemory : undefined;
      const shared = { collective: this.#sharing, replicas, wire };
      const context = { ...shared, defer, load, divide, offload: this.#offload };
      const unit = new Unit(list, context);
      this.add(unit);
      if (this.#keepsWhole) unit.startGather('reading');
    }
    for (const list of packedLists) this.#dividePacked(list);
  }

  #dividePacked(list: readonly Variable[]): void {
    this.inner.prepareVariables(list);
    const load = (unit: PackedUnit) => this.#gathering.load(unit);
    this.packed.add(new PackedUnit(list, { collective: this.#sharing, load, offload: this.#offload }));
  }

  prepareLayers(layers: readonly unknown[]): () => void {
    this.#hasLayers = true;
    const undos = [this.inner.prepareLayers!(layers), this.#buffers.add(layers)];
    return () => {
      for (const undo of undos) undo();
    };
  }

  prepareOptimizer(optimizer: Optimizer): void {
    requireShards(optimizer);
    this.#offload?.requireKnown(optimizer);
    requireState(optimizer, this.#context.collective);
  }

  beginReduction(variables: readonly Variable[]): GradientReduction {
    const { collective } = this.#context;
    const { unitOf } = this;
    this.#offload?.beginPass();
    const completed = this.#keepsWhole ? undefined : (unit: Unit) => this.#gathering.complete(unit);
    const open = this.#reductions;
    let ofPass: ShardReduction | undefined;
    const end = () => {
      if (ofPass) open.delete(ofPass);
      this.#buffers.round();
      if (!this.#keepsWhole) this.#gathering.endPass();
    };
    return splitReduction(variables, (variable) => unitOf.has(variable), {
      divided: (some) => {
        ofPass = new ShardReduction({ variables: some, unitOf, collective, completed });
        open.add(ofPass);
        return ofPass;
      },
      whole: (some) => (some.length > 0 || this.#hasLayers ? this.inner.beginReduction(some) : undefined),
      end,
    });
  }

  protected override forget(unit: Unit | PackedUnit): void {
    this.#gathering.forget(unit);
  }

  protected override updated(units: readonly Unit[]): void {
    if (!this.#keepsWhole) return;
    for (const unit of units) unit.startGather('reading');
    this.#arrival.begin();
  }

  detach(): void {
    for (const reduction of this.#reductions) if (!reduction.dispose()) break;
    this.#reductions.clear();
    this.inner.detach?.();
    this.#unwatch?.();
    this.disposeUnits();
    this.#offload?.dispose();
    this.#offload = undefined;
    this.#hasLayers = false;
    this.#buffers.clear();
  }

  /** Whether every rank has whole parameters between steps. */
  get #keepsWhole(): boolean {
    return this.#options.stage < 3;
  }

  #load(unit: Unit): void {
    if (this.#keepsWhole) besideTape(() => unit.gather('reading'));
    else this.#gathering.load(unit);
  }

  #unitsWith(variables: readonly Variable[]): Unit[] {
    return unitsOfVariables(variables, this.unitOf);
  }
}

function unitsOfVariables<U extends GatheredUnit>(
  variables: readonly Variable[],
  unitOf: ReadonlyMap<Variable, U>,
): U[] {
  const units = new Set<U>();
  for (const variable of variables) {
    const unit = unitOf.get(variable);
    if (unit) units.add(unit);
  }
  return [...units];
}

/** The strategy for variables of which every rank has all elements. */
function wholeBy({ mixedPrecision: { reduce = 'float32' } }: ResolvedFsdpOptions): Strategy {
  return ddp(reduce === 'float32' ? {} : { commHook: reduce });
}

function wireDtypeOf(dtype: FsdpDtype = 'float32'): WireDtype {
  const dtypes = { float32: undefined, bf16: 'bfloat16', fp16: 'float16' } as const;
  return dtypes[dtype];
}

function canDivide(variable: Variable): boolean {
  const { dtype, shape, size } = variable;
  return dtype === 'float32' && shape.length > 0 && size > 0 && !packedOf(variable);
}
