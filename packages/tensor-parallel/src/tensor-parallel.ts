import { engine, tidy, zerosLike, type Optimizer, type Tensor, type Variable } from '@tensorflow/tfjs-core';
import {
  boundMembers,
  requireSameOptions,
  type Collective,
  type GradientReduction,
  type KernelLayer,
  type Plugin,
  type StagedWeights,
  type Strategy,
  type StrategyContext,
  type StrategyState,
  type StrategyTraits,
  type TapeHooks,
  TAPE_HOOK_KEYS,
} from '@acc/contract';
import { canUpdateShards, divideHeads, isLive } from '@acc/kernels';
import { placedStrategy, stagedInPlace, type DistributedUpdate, type Placer } from '@acc/placement';
import { LocalKernels } from './local-kernels.js';
import { LocalVariable } from './local-variable.js';
import { needsWhole, nothingSharded, notOnBackend } from './errors.js';
import { Kernels } from './kernels.js';
import { Line } from './line.js';
import { markOf } from './marks.js';
import { attendLocalHeads } from './local-heads.js';
import { LocalTensors } from './local-tensors.js';
import { placeIn } from './places.js';
import { alongTensor, withoutTensor } from './planes.js';
import { tensorPlugin } from './plugin.js';
import { cutCells } from './recurrent.js';
import { cutInputs } from './sequence.js';
import { ofFirstRank } from './of-first-rank.js';
import { layoutOf, restoreStateOfShards, stateOfShards } from './local-state.js';
import { tensorOf } from './tensor-info.js';

/** A strategy that holds cut variables in shards, and its part in passes. */
export interface TensorParallel {
  readonly strategy: Strategy;
  readonly plugin: Plugin;
}

/**
 * Tensor parallelism over the mesh's axis `tensor` (Shoeybi et al., "Megatron-LM", 2019), for
 * variables that `parallelize` and `cut` have marked. `inner` combines gradients over the other
 * axes: it sees this rank's shards as variables of their own.
 *
 * @param sumsAlone Whether no other rank has gradients of the same shards.
 */
export function tensorParallel(inner: Strategy, sumsAlone = false): TensorParallel {
  const placer = new TensorPlacer(inner, sumsAlone);
  return {
    strategy: placedStrategy(placer),
    plugin: tensorPlugin((grad, variable) => placer.held(grad, variable)),
  };
}

const SAME_PLAN = 'Call parallelize with the same plan, and cut with the same options, on every rank.';

/** Objects that exist while an Accelerator runs. */
interface Attached {
  readonly kernels: KernelLayer;
  /** All ranks of the job. */
  readonly job: Collective;
  readonly tensor: Collective;
  /** The ranks with the same shards. */
  readonly alike: Collective;
  readonly shards: LocalTensors;
  readonly cutKernels: LocalKernels;
  readonly endHeads: () => void;
}

class TensorPlacer implements Placer<LocalVariable> {
  readonly name: string;
  readonly traits: StrategyTraits;
  readonly tape?: TapeHooks;
  readonly stages?: StagedWeights;
  readonly state?: StrategyState;
  readonly #cuts = new Map<Variable, LocalVariable>();
  readonly #prepared = new Set<Variable>();
  /**
   * Whether gradients of a variable that is not cut are partial since the last reduction: each rank has
   * its term of a sum over the axis.
   */
  readonly #arePartial = new Map<Variable, boolean>();
  #attached!: Attached;

  constructor(
    readonly inner: Strategy,
    sumsAlone: boolean,
  ) {
    this.name = inner.name;
    const startsAtFinish = sumsAlone && inner.traits.parameters === 'replicated';
    const unrecordable =
      inner.traits.unrecordable ??
      (inner.traits.recordsAlone ? 'cut weights are sharded besides' : undefined);
    this.traits = {
      ...inner.traits,
      parameters: 'sharded',
      isLocal: false,
      startsAtFinish,
      ...(unrecordable !== undefined && { unrecordable }),
    };
    const { tape, stages, state } = inner;
    if (stages) this.stages = stagedInPlace(stages, (variable) => this.#ownOf(variable));
    if (tape) this.tape = this.#tapeOf(tape);
    if (state) this.state = this.#stateOf(state);
  }

  attach(context: StrategyContext): void {
    const { kernels, mesh, collective } = context;
    if (!kernels.localShards) throw notOnBackend(kernels.backendName);
    const tensor = mesh.along('tensor');
    const own = new Kernels(kernels.backendName);
    const line = new Line(tensor, own, kernels);
    const local = kernels.localShards({
      count: line.count,
      index: line.index,
      join: (shard, shape) => {
        const { dataId, dtype } = line.join(shard);
        return engine().makeTensorFromTensorInfo({ dataId, dtype, shape: [...shape] }, own.backend);
      },
    });
    const shards = new LocalTensors(local, line);
    const alike = alongTensor(mesh);
    this.inner.attach({ ...context, collective: alike, mesh: withoutTensor(mesh) });
    const cutKernels = new LocalKernels(own, shards);
    const endHeads = divideHeads(attendLocalHeads(shards, kernels));
    this.#attached = { kernels, job: collective, tensor, alike, shards, cutKernels, endHeads };
  }

  prepareVariables(variables: readonly Variable[], layers?: readonly unknown[]): void {
    const { job, tensor, shards } = this.#attached;
    this.#forgetDisposed();
    const marks = variables.map((variable): [string, unknown] => [variable.name, markOf(variable) ?? null]);
    requireSameOptions('parallelize', Object.fromEntries(marks), job, SAME_PLAN);
    const places = variables.map((variable) => placeIn(variable, tensor.size));
    variables.forEach((variable, i) => {
      const at = places[i];
      this.#prepared.add(variable);
      if (this.#cuts.has(variable)) return;
      // One by one: an empty variable gets its values here, and loses them when it is cut.
      tidy(() => variable.assign(tensor.broadcast(variable, 0)));
      if (at) this.#cuts.set(variable, new LocalVariable(variable, at, shards));
    });
    this.inner.prepareVariables(this.#owns(variables), layers);
  }

  prepareLayers(layers: readonly unknown[]): () => void {
    const { shards, kernels } = this.#attached;
    const undos = [cutCells(layers, shards), this.inner.prepareLayers?.(layers)];
    undos.push(cutInputs(layers, shards, kernels));
    return () => {
      for (const undo of undos) undo?.();
    };
  }

  prepareOptimizer(optimizer: Optimizer): void {
    if (!canUpdateShards(optimizer)) throw needsWhole(optimizer);
    this.inner.prepareOptimizer?.(optimizer);
  }

  beginReduction(variables: readonly Variable[]): GradientReduction {
    const { tensor } = this.#attached;
    if (this.#cuts.size === 0) throw nothingSharded(tensor.size, variables.filter(markOf));
    const reduction = this.inner.beginReduction(this.#owns(variables));
    const terms: (readonly [index: number, grad: Tensor])[] = [];
    return {
      ready: (index, grad) => {
        if (this.#arePartial.get(variables[index]!)) terms.push([index, grad]);
        else reduction.ready(index, grad);
      },
      finish: () => {
        const list = terms.map(([, grad]) => grad);
        const sums = list.length > 0 ? tensor.allReduceCoalesced(list, 'sum', { donate: true }) : [];
        sums.forEach((sum, i) => reduction.ready(terms[i]![0], sum));
        this.#arePartial.clear();
        const results = reduction.finish();
        if (!this.traits.mixesGradients) return results;
        return ofFirstRank(results, (index) => !this.#cuts.has(variables[index]!), tensor);
      },
    };
  }

  /**
   * The gradient that this rank holds: its shard, the whole, or its term of a sum of small
   * gradients that are added up together. Takes over `grad`.
   */
  held(grad: Tensor, variable: Variable): Tensor {
    const { shards } = this.#attached;
    const cut = this.#cuts.get(variable);
    const own = cut ? cut.localOf(grad) : this.#heldOfWhole(grad, variable, shards);
    if (own !== grad) grad.dispose();
    return own;
  }

  #heldOfWhole(grad: Tensor, variable: Variable, shards: LocalTensors): Tensor {
    const state = shards.stateOf(grad);
    const arePartial = this.#arePartial.get(variable) ?? (state?.kind === 'sum' && state.scale === 1);
    this.#arePartial.set(variable, arePartial);
    if (arePartial && state?.kind === 'sum' && state.scale === 1)
      return tensorOf(shards.localShardOf(grad), shards.line.backend);
    shards.gatherFull(grad);
    // Earlier micro-batches of the window have terms: the first rank adds the whole to its own.
    return arePartial && shards.line.index > 0 ? zerosLike(grad) : grad;
  }

  get group(): Collective {
    return this.#attached.tensor;
  }

  distributed(variable: Variable): LocalVariable | undefined {
    return this.#cuts.get(variable);
  }

  settle(cut: LocalVariable): void {
    cut.separate();
    cut.release();
  }

  materialize(cut: LocalVariable, local: () => Tensor): Tensor {
    return tidy(() => {
      const full = cut.whole(local());
      this.#attached.shards.gatherFull(full);
      return full;
    });
  }

  expose(cut: LocalVariable, local: Tensor): Tensor {
    return cut.whole(local);
  }

  isExposed(grad: Tensor): boolean {
    return this.#attached.shards.isCut(grad);
  }

  exposed(cut: LocalVariable, grad: Tensor): Tensor {
    return cut.localOf(grad);
  }

  update({ distributed }: DistributedUpdate<LocalVariable>, run: () => void): void {
    for (const cut of distributed.values()) cut.separate();
    try {
      run();
    } finally {
      // Other ranks may have changed variables for which this one has no gradient.
      for (const cut of this.#cuts.values()) cut.release();
    }
  }

  synchronize(fromRank: number): void {
    this.inner.synchronize?.(fromRank);
  }

  detach(): void {
    const { cutKernels, endHeads } = this.#attached;
    this.inner.detach?.();
    endHeads();
    cutKernels.restore();
    for (const cut of this.#cuts.values()) cut.dispose();
    this.#cuts.clear();
  }

  #stateOf(inner: StrategyState): StrategyState {
    const layout = () => layoutOf(this.#prepared, this.#cuts);
    return {
      get: () => stateOfShards(inner, this.#attached.tensor, layout()),
      set: (state) =>
        restoreStateOfShards(inner, state, { ...this.#attached, layout: layout(), name: this.name }),
    };
  }

  /** The hooks of the inner strategy, which knows this rank's shards. */
  #tapeOf(tape: TapeHooks): TapeHooks {
    const { before, after, isInert, pack } = tape;
    return {
      ...boundMembers(tape, TAPE_HOOK_KEYS),
      ...(before && { before: (variables, phase) => before.call(tape, this.#owns(variables), phase) }),
      ...(after && { after: (variables, phase) => after.call(tape, this.#owns(variables), phase) }),
      ...(isInert && { isInert: (variables, phase) => isInert.call(tape, this.#owns(variables), phase) }),
      ...(pack && {
        pack: (tensor, variable) =>
          variable && this.#cuts.has(variable) ? undefined : pack.call(tape, tensor, variable),
      }),
    };
  }

  /** The variables that the inner strategy holds. */
  #owns(variables: readonly Variable[]): Variable[] {
    return variables.map((variable) => this.#ownOf(variable));
  }

  #ownOf(variable: Variable): Variable {
    return this.#cuts.get(variable)?.local ?? variable;
  }

  #forgetDisposed(): void {
    for (const variable of this.#prepared) if (!isLive(variable)) this.#prepared.delete(variable);
    for (const [variable, cut] of this.#cuts) {
      if (isLive(variable)) continue;
      cut.dispose();
      this.#cuts.delete(variable);
    }
  }
}
