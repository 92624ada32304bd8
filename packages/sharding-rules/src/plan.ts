import type { RowsAt } from '@acc/contract';
import type { ShardedCall } from './sharded-call.js';

/** The form of a kernel's result, given one shard for each shard of its inputs. */
export type Result =
  | {
      readonly kind: 'rows';
      readonly at: RowsAt;
      /** Whether kernels that cannot run on the rows may gather them. */
      readonly gathers?: boolean;
    }
  | { readonly kind: 'sum'; readonly scale: number }
  /** The same for every shard. */
  | { readonly kind: 'whole' };

/** How a kernel runs on each shard of its inputs. */
export interface Plan {
  /**
   * For each result, or for all results. A function determines it from the shape of a shard's
   * result.
   */
  readonly results: Result | readonly Result[] | ((shape: readonly number[]) => Result);
  /** Whole inputs that are cut like the others, by name. Every shard gets all other whole inputs. */
  readonly cuts?: ReadonlyMap<string, RowsAt>;
  /**
   * Factors by which inputs are multiplied first, by name: powers of the number of shards. Where
   * that is a power of two, as in deterministic training, nothing is rounded.
   */
  readonly factors?: ReadonlyMap<string, number>;
  /** Attributes that differ for one shard. */
  readonly attrs?: Readonly<Record<string, unknown>>;
}

/**
 * Returns the plan for a call, or the reason why there is none. The reason is the part of the
 * message after the kernel's name.
 */
export type Rule = (call: ShardedCall) => Plan | string;

export const rows = (dim: number, times = 1): Result => ({ kind: 'rows', at: { dim, times } });
export const sum = (scale = 1): Result => ({ kind: 'sum', scale });
