import type { RowsAt } from '@acc/contract';
import type { ShardedCall } from './sharded-call.js';

/** What a kernel's result is made of, one piece for each piece of its inputs. */
export type Result =
  | { readonly kind: 'rows'; readonly at: RowsAt }
  | { readonly kind: 'sum'; readonly scale: number }
  /** Of every piece alike. */
  | { readonly kind: 'whole' };

/** How a kernel runs on one piece of its inputs after the other. */
export interface Plan {
  /** Of each result, or of all alike; a function where the shape of a piece's result tells it. */
  readonly results: Result | readonly Result[] | ((shape: readonly number[]) => Result);
  /** Whole inputs that are cut like the others, by name. Those that are not among them are given to every piece. */
  readonly cuts?: ReadonlyMap<string, RowsAt>;
  /** Inputs that are multiplied before, by name. Powers of two, so that nothing is rounded. */
  readonly factors?: ReadonlyMap<string, number>;
  /** What changes in the attributes for one piece. */
  readonly attrs?: Readonly<Record<string, unknown>>;
}

/** A kernel's plan for a call; in words, after its name, why there is none. */
export type Rule = (call: ShardedCall) => Plan | string;

export const rows = (dim: number, times = 1): Result => ({ kind: 'rows', at: { dim, times } });
export const sum = (scale = 1): Result => ({ kind: 'sum', scale });
