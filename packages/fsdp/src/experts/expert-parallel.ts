import type { NamedTensorMap, Optimizer, Tensor, Variable } from '@tensorflow/tfjs-core';
import {
  cutOf,
  GRADIENT_AXES,
  holdPart,
  type Collective,
  type GradientReduction,
  type Strategy,
  type StrategyContext,
  type StrategyTraits,
  type TensorShard,
} from '@acc/contract';
import { ddp, requireSameVariables, type DdpOptions } from '@acc/ddp';
import { besideTape } from '@acc/tfjs-internals';
import { cannotDefer } from '../errors.js';
import { requireState } from '../offload/index.js';
import { deferBy, ShardedParameters } from '../sharded-parameters.js';
import { splitReduction } from '../split-reduction.js';
import { Unit } from '../unit.js';
import { syncsAtApply, unevenExperts } from './errors.js';
import { ExpertPart } from './expert-part.js';
import { ExpertReduction } from './expert-reduction.js';

const AXIS = 'expert';

/**
 * Data parallelism whose ranks along the axis `expert` share out experts (Lepikhin et al., "GShard",
 * 2020). Variables that are marked to be cut along that axis are held in parts: weights, gradients and
 * optimizer state. Their layer sends rows to the ranks that have their experts. Gradients of experts
 * are summed over the ranks with the same experts, all others over all ranks with rows of their own.
 *
 * @throws AccError `ACC_UNKNOWN_OPTION`, `ACC_INVALID_OPTION`.
 */
export function expertParallel(options: DdpOptions = {}): Strategy {
  if (options.syncAt === 'apply') throw syncsAtApply();
  return new ExpertParallel(ddp(options));
}

class ExpertParallel implements Strategy {
  readonly name = 'experts';
  readonly traits: StrategyTraits = {
    parameters: 'sharded',
    isRecordable: false,
    accumulates: 'afterReduction',
  };
  /** For variables that every rank has, and for statistics of layers. */
  readonly #whole: Strategy;
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

  constructor(whole: Strategy) {
    this.#whole = whole;
    // The state of a hook, if there is one.
    if (whole.getState) this.getState = () => whole.getState!();
    if (whole.setState) this.setState = (state) => whole.setState!(state);
  }

  attach(context: StrategyContext): void {
    const { mesh, kernels } = context;
    if (!kernels.defer) throw cannotDefer(kernels.backendName);
    this.#context = context;
    this.#whole.attach(context);
    this.#group = mesh.along(AXIS);
    this.#replicas = mesh.over(GRADIENT_AXES.filter((axis) => axis !== AXIS));
    this.#held = new ShardedParameters({ ...context, sharing: this.#group });
  }

  prepareVariables(variables: readonly Variable[]): void {
    const { collective, kernels } = this.#context;
    requireSameVariables(variables, collective);
    this.#held.forgetDisposed((unit) => this.#forget(unit));
    const isCut = (variable: Variable) => cutOf(variable)?.axis === AXIS;
    const fresh = variables.filter((variable) => isCut(variable) && !this.#held.unitOf.has(variable));
    for (const variable of fresh) this.#requireEven(variable);
    this.#whole.prepareVariables(variables.filter((variable) => !isCut(variable)));
    if (fresh.length > 0) this.#held.beginPreparation();
    for (const variable of fresh) {
      // One by one: a variable without memory gets its values here, and keeps its part.
      this.#whole.prepareVariables([variable]);
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
    return this.#whole.prepareLayers!(layers);
  }

  prepareOptimizer(optimizer: Optimizer): void {
    this.#held.requireShards(optimizer);
    requireState(optimizer, this.#context.collective);
  }

  beginReduction(variables: readonly Variable[]): GradientReduction {
    const { unitOf } = this.#held;
    const lengthOf = (variable: Variable) => unitOf.get(variable)!.layout.chunk;
    const over = { lengthOf, replicas: this.#replicas, collective: this.#context.mesh.gradientRanks };
    return splitReduction(variables, (variable) => unitOf.has(variable), {
      divided: (some) => new ExpertReduction({ ...over, variables: some }),
      whole: (some) => (some.length > 0 || this.#hasLayers ? this.#whole.beginReduction(some) : undefined),
      end: () => this.#release(),
    });
  }

  wholeGradients(grads: readonly (Tensor | null)[], variables: readonly Variable[]): (Tensor | null)[] {
    return this.#held.wholeGradients(grads, variables);
  }

  heldGradients(grads: NamedTensorMap): NamedTensorMap | undefined {
    return this.#held.heldGradients(grads);
  }

  update(grads: NamedTensorMap, apply: (grads: NamedTensorMap) => void, optimizer: Optimizer): void {
    this.#release();
    this.#held.update(grads, { optimizer, apply });
  }

  globalNorm(grads: NamedTensorMap): Tensor {
    return this.#held.globalNorm(grads);
  }

  allFinite(grads: readonly Tensor[]): boolean {
    return this.#held.allFinite(grads);
  }

  materialize(variables: readonly Variable[]): Tensor[] {
    return this.#held.materialize(variables);
  }

  shardsOf(variable: Variable): readonly TensorShard[] | undefined {
    return this.#held.shardsOf(variable);
  }

  heldBy(variable: Variable): Variable | undefined {
    return this.#held.heldBy(variable);
  }

  detach(): void {
    this.#whole.detach?.();
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
