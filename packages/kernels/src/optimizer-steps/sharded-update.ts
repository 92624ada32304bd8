import { sqrt, square, tidy, type Tensor } from '@tensorflow/tfjs-core';
import { AccError } from '@acc/contract';

/**
 * Adds up over ranks the sums of squares of tensors of which each rank holds a shard. Every rank
 * calls it equally often.
 *
 * @param squares `[k, names.length]`: for each name, `k` sums of squares of this rank's elements.
 * @param names The variables that have elements on this rank, and those that are not sharded.
 * @returns The sums over all ranks, in the shape of `squares`. Those of variables that are not
 * sharded are unchanged. The caller disposes it.
 */
export type SumSquares = (squares: Tensor, names: readonly string[]) => Tensor;

/** Elements `begin` to `end`, row-major, of a tensor of the given shape. Empty if they are equal. */
export interface ShardRange {
  readonly shape: readonly number[];
  readonly begin: number;
  readonly end: number;
}

/** How ranks hold the variables of an update, and how they add up what they compute from them. */
export interface ShardedUpdate {
  readonly sumSquares: SumSquares;
  /** This rank's elements of the variable of that name. Undefined: it is not sharded. */
  shardOf(name: string): ShardRange | undefined;
  /**
   * Adds up over ranks. Every rank calls it equally often.
   *
   * @param own `[length]`, float32, of the same length on every rank. The caller keeps it.
   * @returns `[length]`. The caller disposes it.
   */
  sum(own: Tensor): Tensor;
}

let active: ShardedUpdate | undefined;

/**
 * Runs an optimizer's update in which ranks hold shards of variables. Inside another such update, both
 * hold: other ranks share other variables.
 */
export function withShards(sharded: ShardedUpdate, update: () => void): void {
  const before = active;
  active = before ? joined(before, sharded) : sharded;
  try {
    update();
  } finally {
    active = before;
  }
}

/** A variable that `first` shards may be this rank's part of it, of which `second` has a shard. */
function joined(first: ShardedUpdate, second: ShardedUpdate): ShardedUpdate {
  return {
    sumSquares: (squares, names) => tidy(() => second.sumSquares(first.sumSquares(squares, names), names)),
    shardOf: (name) => first.shardOf(name) ?? second.shardOf(name),
    sum: () => {
      throw new AccError(
        'ACC_STRATEGY_CANNOT',
        'This optimizer adds up over the ranks that share a variable, and here variables are shared by different ranks.',
        { help: 'Use another optimizer, for example adamw or lamb, or a mesh with one axis that shards.' },
      );
    },
  };
}

/** Undefined if ranks hold whole variables. */
export function shardedUpdate(): ShardedUpdate | undefined {
  return active;
}

/**
 * Norms of whole tensors from those of this rank's elements. If ranks hold shards, every rank calls
 * it equally often, also one without elements.
 *
 * @param norms `[k, names.length]`.
 */
export function fullNorms(norms: Tensor, names: readonly string[]): Tensor {
  const sumSquares = active?.sumSquares;
  return sumSquares ? tidy(() => sqrt(sumSquares(square(norms), names))) : norms.clone();
}
