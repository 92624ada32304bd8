import type { NamedTensorMap, Optimizer, Tensor, Variable } from '@tensorflow/tfjs-core';
import type { Collective } from '../collective/collective.js';
import type { KernelLayer } from '../kernel-layer/kernel-layer.js';
import type { Mesh } from '../collective/mesh.js';
import type { StagedWeights } from './staged-weights.js';
import type { RankState } from '../storage/state.js';
import type { TapeHooks } from '../tape/tape-hooks.js';
import type { RunForward } from '../tape/taped-forward.js';

/** The properties of a strategy that callers read instead of comparing names. */
export interface StrategyTraits {
  /** Whether each rank holds every parameter completely or only a part of it. */
  readonly parameters: 'replicated' | 'sharded';
  /**
   * True if reductions return gradients unchanged. A recorded step then repeats without calling
   * them. Default false.
   */
  readonly isLocal?: boolean;
  /**
   * When gradients are reduced: while they are computed, or only before an optimizer applies them,
   * after a loop may have changed them. Default `backward`.
   */
  readonly syncAt?: 'backward' | 'apply';
  /**
   * When the gradients of the micro-batches of a window are accumulated. `beforeReduction`: each
   * rank accumulates its own, and the micro-batch that closes the window reduces the sum.
   * `afterReduction`: every micro-batch is reduced, and each rank accumulates the results of {@link
   * GradientReduction.finish}, for example a shard. Inside a window a loop then also gets reduced
   * gradients. Gradients that are reduced at `apply` are always accumulated before. Default
   * `beforeReduction`.
   */
  readonly accumulates?: 'beforeReduction' | 'afterReduction';
  /**
   * Why steps cannot be recorded, as an end of a sentence: `accelerator.compile` is refused with
   * it. Absent if they can.
   */
  readonly unrecordable?: string;
  /** True if steps cannot be recorded where another strategy wraps this one. Default false. */
  readonly recordsAlone?: boolean;
  /**
   * True if a reduction starts nothing before {@link GradientReduction.finish}. It then gets all
   * gradients of a pass just before that, and a recorded step calls it once. Default false.
   */
  readonly startsAtFinish?: boolean;
  /**
   * True if layers exchange values between ranks with different rows, so that a rank's gradients also
   * come from the losses of others. All ranks then weight their losses before the backward pass, also
   * in micro-batches that hold gradients. Default false.
   */
  readonly mixesRanks?: boolean;
  /**
   * True if the reduced gradient of a variable can depend on the gradients of others, for example of
   * those in the same bucket. Default false.
   */
  readonly mixesGradients?: boolean;
}

/** The environment of a strategy. It is given once, before any other call. */
export interface StrategyContext {
  /** All ranks of the job. */
  readonly collective: Collective;
  readonly mesh: Mesh;
  /**
   * The kernel layer of the backend that is active at the time of use. Programs may call
   * `tf.setBackend` at any time.
   */
  readonly kernels: KernelLayer;
  /**
   * The rows that each rank has of the last batch of prepared data. Undefined if the loop does not
   * use prepared data.
   */
  readonly batchRows: () => BatchRows | undefined;
  /**
   * Whether weights must be the same, bit for bit, on any number of ranks. Sums over ranks then use
   * `allReduce`, which adds in the same order for all numbers of ranks. Default false.
   */
  readonly isDeterministic?: boolean;
  /** Runs a forward pass whose backward pass comes later. */
  readonly runForward: RunForward;
}

/** The rows that each rank of {@link Mesh.dataRanks} has of a step's batch. */
export interface BatchRows {
  /** The number of rows of each rank, by its rank there. */
  readonly rows: readonly number[];
  /**
   * The number of these rows that are samples and not padding at the end of the data. The samples
   * come first.
   */
  readonly realRows: readonly number[];
  /** Whether this is the last batch on this rank. Absent if that is not known. */
  readonly isLast?: boolean;
}

/** The elements of a whole tensor that a rank holds: a box of it, row-major. */
export interface TensorShard {
  /** The name of the whole tensor, if it differs from that of the variable. */
  readonly name?: string;
  /** The shape of the whole tensor. */
  readonly shape: readonly number[];
  /** The first index of the box, for each dim. */
  readonly offset: readonly number[];
  /** The size of the box, for each dim. 0 if the rank holds nothing. */
  readonly sizes: readonly number[];
  /** The position of the box's first element in the row-major elements of the variable. */
  readonly start: number;
  /**
   * The box's elements are `count` equal runs, which begin `step` elements apart in the variable.
   * Default: one run.
   */
  readonly runs?: { readonly count: number; readonly step: number };
}

/** The gradients of a strategy in two forms: full for programs, local for optimizers. */
export interface StrategyGradients {
  /**
   * Gradients that `finish` returned, as a program sees them: in the shapes of their variables, with
   * full values that are gathered when they are read. It takes `grads` over, and null stays null.
   */
  full(grads: readonly (Tensor | null)[], variables: readonly Variable[]): (Tensor | null)[];
  /**
   * This rank's elements of gradients, by variable name, if `full` made one of them. Undefined: all of
   * them have all elements, as a program has computed them. The caller disposes the tensors that are
   * new.
   */
  local(grads: NamedTensorMap): NamedTensorMap | undefined;
}

/** Where the elements of a strategy's variables lie. Checkpoints read and write by it. */
export interface StrategyLayout {
  /**
   * The shards of whole tensors that the elements of a parameter are. They also hold for optimizer
   * state of its shape. There is at least one shard, every element is in one shard, and the shards
   * of all ranks together are whole tensors. Undefined: the variable is a whole tensor, the same on
   * every rank.
   */
  shardsOf(variable: Variable): readonly TensorShard[] | undefined;
  /**
   * The variable that has the elements of {@link shardsOf}, for a parameter that keeps its whole
   * shape. Checkpoints read it, and assign to it. Optimizer state has its shape. Absent, or
   * undefined: the parameter itself.
   */
  localOf?(variable: Variable): Variable | undefined;
}

/** The state of a strategy, besides variables, that later steps depend on. */
export interface StrategyState {
  get(): RankState;
  /**
   * Restores a state that `get` returned. `local` is undefined on a rank that did not exist at the
   * time of the save.
   */
  set(state: RankState): void;
}

/** How parameters are held and gradients combined over the ranks of a group. */
export interface Strategy {
  readonly name: string;
  readonly traits: StrategyTraits;
  attach(context: StrategyContext): void;
  /**
   * Prepares variables for training. Ranks compare them and start from the values of rank 0.
   *
   * @param layers The layers of the model that the variables are the weights of. Absent for
   * variables without a model.
   * @throws AccError `ACC_VARIABLES_DIFFER` if names, shapes or dtypes differ across ranks.
   */
  prepareVariables(variables: readonly Variable[], layers?: readonly unknown[]): void;
  /**
   * Receives the layers of a prepared model before backends install their own kernels. Returns a
   * function that restores the layers.
   */
  prepareLayers?(layers: readonly unknown[]): () => void;
  /**
   * Receives a prepared optimizer, before its first step.
   *
   * @throws AccError `ACC_STRATEGY_CANNOT` for an optimizer that cannot update what a rank holds.
   */
  prepareOptimizer?(optimizer: Optimizer): void;
  /** Takes part in passes at each operator. Absent: passes have no extra cost. */
  readonly tape?: TapeHooks;
  /** The weights of models in stages. Absent: the strategy cannot divide a model over a pipeline. */
  readonly stages?: StagedWeights;
  /**
   * Starts the reduction of one backward pass over `variables`, all of which are prepared.
   * Gradients are summed over ranks. The code that computes them has weighted them, so that the sum
   * is the mean.
   */
  beginReduction(variables: readonly Variable[]): GradientReduction;
  /** Full and local gradients. Absent: programs get what `finish` returned. */
  readonly gradients?: StrategyGradients;
  /**
   * The Euclidean norm, over all ranks, of gradients that `finish` returned, by variable name. A
   * scalar, the same on every rank. The caller disposes it. Absent if every rank has every gradient
   * completely.
   */
  globalNorm?(grads: NamedTensorMap): Tensor;
  /**
   * Whether gradients that `finish` returned are finite on all ranks. The answer is the same on
   * every rank. Every rank calls it. The caller still owns the gradients. Absent if every rank has
   * every gradient completely.
   */
  allFinite?(grads: readonly Tensor[]): boolean;
  /**
   * Changes gradients that `finish` returned, such as clipping does. `change` takes its list over
   * and returns the results in the same order; the strategy calls it for a few gradients at a time.
   * The caller disposes the results. Absent: `change` is called for all of them.
   */
  changeGradients?(grads: readonly Tensor[], change: (list: Tensor[]) => Tensor[]): Tensor[];
  /**
   * The whole values of variables, in their order, on every rank. Every rank calls it with the same
   * variables, outside of gradient computations. The caller disposes the tensors. The variables do
   * not change, and no gathered value is kept: a caller that passes one variable at a time needs
   * memory for one whole variable. Variables that are not prepared are cloned. Absent: every rank
   * has every variable completely.
   */
  materialize?(variables: readonly Variable[]): Tensor[];
  /**
   * Runs an optimizer's update with gradients that `finish` returned, after clipping and plugins.
   * It calls `apply` once, with gradients by the names of the registered variables to update. These
   * may be this rank's shards, whose state the optimizer then keeps. The strategy disposes
   * gradients that it makes. Absent: the variables themselves are updated.
   *
   * @param optimizer The optimizer whose update `apply` is.
   */
  update?(grads: NamedTensorMap, apply: (grads: NamedTensorMap) => void, optimizer: Optimizer): void;
  /**
   * Gives every rank the parameters of `fromRank`, and the other strategy state that is the same on
   * every rank. Called after ranks have taken different numbers of steps.
   */
  synchronize?(fromRank: number): void;
  /** Where elements lie. Absent: every variable is a whole tensor, the same on every rank. */
  readonly layout?: StrategyLayout;
  /** Absent: later steps depend on nothing but variables. */
  readonly state?: StrategyState;
  /** Frees the resources of the strategy. Afterwards only `attach` may be called. */
  detach?(): void;
}

/** The members of a strategy and their types. Core rejects others. */
export const STRATEGY_MEMBERS: Readonly<Record<keyof Strategy, 'string' | 'object' | 'function'>> = {
  name: 'string',
  traits: 'object',
  attach: 'function',
  prepareVariables: 'function',
  prepareLayers: 'function',
  prepareOptimizer: 'function',
  tape: 'object',
  stages: 'object',
  beginReduction: 'function',
  gradients: 'object',
  globalNorm: 'function',
  allFinite: 'function',
  changeGradients: 'function',
  materialize: 'function',
  update: 'function',
  synchronize: 'function',
  layout: 'object',
  state: 'object',
  detach: 'function',
};

/** The members of each group of {@link Strategy}, and whether the group needs them. Core rejects others. */
export const STRATEGY_GROUPS: {
  readonly [G in 'gradients' | 'layout' | 'state']: Readonly<
    Record<keyof NonNullable<Strategy[G]>, 'required' | 'optional'>
  >;
} = {
  gradients: { full: 'required', local: 'required' },
  layout: { shardsOf: 'required', localOf: 'optional' },
  state: { get: 'required', set: 'required' },
};

const TRAITS: Readonly<Record<keyof StrategyTraits, true>> = {
  parameters: true,
  isLocal: true,
  syncAt: true,
  accumulates: true,
  unrecordable: true,
  recordsAlone: true,
  startsAtFinish: true,
  mixesRanks: true,
  mixesGradients: true,
};

/** The traits that a strategy may have. Core rejects others. */
export const STRATEGY_TRAITS: readonly string[] = Object.keys(TRAITS);

/** The reduction of the gradients of one backward pass over ranks. */
export interface GradientReduction {
  /** Reports that the gradient of `variables[index]` is final. The reduction takes it over. */
  ready(index: number, gradLocal: Tensor): void;
  /**
   * Waits for all reductions and returns the gradients in the order of the variables. An entry is
   * null if no rank had a gradient. If parameters are sharded, each result has the elements of this
   * rank's shard, in any shape. The caller owns the results.
   */
  finish(): (Tensor | null)[];
}
