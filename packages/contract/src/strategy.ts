import type { NamedTensorMap, Tensor, Variable } from '@tensorflow/tfjs-core';
import type { Collective } from './collective.js';
import type { KernelLayer } from './kernel-layer.js';
import type { Mesh } from './mesh.js';
import type { RankState } from './state.js';
import type { TapeHooks } from './tape-hooks.js';
import type { RunForward } from './taped-forward.js';

/** What callers may ask of a strategy instead of comparing names. */
export interface StrategyTraits {
  /** Whether each rank holds all of every parameter or a part of it. */
  readonly parameters: 'replicated' | 'sharded';
  /**
   * True where reductions give gradients back as they came: then a recorded step repeats without calling them. Default
   * false.
   */
  readonly isLocal?: boolean;
  /**
   * When gradients are reduced: while they are computed, or not before an optimizer is to apply them, whatever the loop has
   * made of them by then. Default `backward`.
   */
  readonly syncAt?: 'backward' | 'apply';
  /**
   * When gradients of the micro-batches of a window are added up. `beforeReduction`: each rank adds up its own, and the micro-batch
   * that closes the window reduces the sum. `afterReduction`: every micro-batch is reduced, and each rank adds up what
   * {@link GradientReduction.finish} gives it, a shard say; inside a window a loop then gets reduced gradients, too. Gradients that are reduced at `apply` are always added up before.
   * Default `beforeReduction`.
   */
  readonly accumulates?: 'beforeReduction' | 'afterReduction';
}

/** What a strategy works with; given once, before anything else is called. */
export interface StrategyContext {
  /** All ranks of the job. */
  readonly collective: Collective;
  readonly mesh: Mesh;
  /** Of the backend that is active when a member is used: programs may call `tf.setBackend` at any time. */
  readonly kernels: KernelLayer;
  /** How many rows each rank has of the batch that prepared data gave last; undefined in a loop that feeds itself. */
  readonly batchRows: () => BatchRows | undefined;
  /**
   * Weights are to be the same, bit for bit, on any number of ranks: what ranks add up goes through `allReduce`, which has one
   * order of additions for all numbers of ranks. Default false.
   */
  readonly isDeterministic?: boolean;
  /** Runs a forward pass whose backward pass comes later. */
  readonly runForward: RunForward;
}

/** How many rows each rank of {@link Mesh.dataRanks} has of a step's batch. */
export interface BatchRows {
  /** Rows that each rank works on, by its rank there. */
  readonly rows: readonly number[];
  /** Those of them that are samples, not filling at the end of the data; they come first. */
  readonly realRows: readonly number[];
  /** No further batch follows on this rank; absent where that isn't known. */
  readonly isLast?: boolean;
}

/** Elements of a whole tensor that a rank holds: a box of it, row by row. */
export interface TensorPart {
  /** The whole tensor's name, where that isn't the variable's own. */
  readonly name?: string;
  /** The whole tensor's shape. */
  readonly shape: readonly number[];
  /** For each dim the first index that is in the box. */
  readonly offset: readonly number[];
  /** For each dim how many there are; 0 where the rank holds nothing. */
  readonly sizes: readonly number[];
  /** Where the box begins in the row-major elements of the variable. */
  readonly start: number;
}

/** How parameters are held and gradients combined over the ranks of a group. */
export interface Strategy {
  readonly name: string;
  readonly traits: StrategyTraits;
  attach(context: StrategyContext): void;
  /**
   * Makes variables ready to train: ranks are compared and start from rank 0's values.
   *
   * @throws AccError `ACC_VARIABLES_DIFFER` when names, shapes or dtypes differ across ranks.
   */
  prepareVariables(variables: readonly Variable[]): void;
  /**
   * Sees the layers of a prepared model, before backends put their own kernels under them. Returns what gives the layers their
   * own way back.
   */
  prepareLayers?(layers: readonly unknown[]): () => void;
  /** Takes part in passes operator by operator. Absent: passes run without any cost for it. */
  readonly tape?: TapeHooks;
  /**
   * Starts the reduction of one backward pass over `variables`, all of which were prepared. Gradients are summed over
   * ranks; whoever computes them has weighted them, so that the sum is the mean.
   */
  beginReduction(variables: readonly Variable[]): GradientReduction;
  /**
   * The Euclidean norm over all ranks of gradients that `finish` gave, by the variables' names; a scalar, the same on every
   * rank. Caller disposes. Absent where every rank has all of every gradient.
   */
  globalNorm?(grads: NamedTensorMap): Tensor;
  /**
   * Whether gradients that `finish` gave are finite on all ranks, the same answer on every rank. Every rank calls it. The gradients
   * stay the caller's. Absent where every rank has all of every gradient.
   */
  allFinite?(grads: readonly Tensor[]): boolean;
  /**
   * Gives the whole values of variables, in their order, on every rank. Every rank calls it with the same variables, outside of
   * gradient computations. The caller disposes the tensors. The variables stay as they are, and nothing that was gathered is
   * kept: a caller that gives one variable at a time needs memory for one whole variable. Variables that were not prepared are
   * cloned. Absent: every rank has all of every variable.
   */
  materialize?(variables: readonly Variable[]): Tensor[];
  /**
   * Runs an optimizer's update by gradients that `finish` gave, after clipping and after plugins have changed them. It calls `apply` once, with a
   * record of gradients by the names of the registered variables to be updated: this rank's shards, say, whose state the optimizer
   * then keeps. Gradients that it makes it disposes. Absent: the variables themselves are updated.
   */
  update?(grads: NamedTensorMap, apply: (grads: NamedTensorMap) => void): void;
  /**
   * Gives every rank the parameters of `fromRank`, and what else of the strategy's is the same on every rank. Called when ranks
   * have taken different numbers of steps.
   */
  synchronize?(fromRank: number): void;
  /**
   * Which parts of which whole tensors the elements of a parameter are, and those of optimizer state of its shape. There is at
   * least one part, every element is in one, and the parts of all ranks together are whole tensors. Absent, or undefined: the
   * variable is a whole tensor, the same on every rank.
   */
  partsOf?(variable: Variable): readonly TensorPart[] | undefined;
  /** What later steps depend on beside variables; with `setState`, or neither. */
  getState?(): RankState;
  /** Goes on from what `getState` gave; `local` is undefined on a rank that did not exist when it was saved. */
  setState?(state: RankState): void;
  /** Frees what the strategy holds. Nothing is called after that but `attach`. */
  detach?(): void;
}

/** Gradients of one backward pass on their way over the ranks. */
export interface GradientReduction {
  /** The gradient of `variables[index]` is final. The reduction takes it over. */
  ready(index: number, gradLocal: Tensor): void;
  /**
   * Waits for everything and gives the gradients in the order of the variables; null where no rank had one. Where parameters are
   * sharded, of each gradient the elements that belong to this rank's shard, of any shape. The caller owns them.
   */
  finish(): (Tensor | null)[];
}
