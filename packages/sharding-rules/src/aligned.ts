import type { RowsAt } from '@acc/contract';
import type { ShardedCall } from './sharded-call.js';

/** How inputs that broadcast against each other are aligned. */
export interface Alignment {
  /** The position of the rows in the result. */
  readonly at: RowsAt;
  readonly cuts: ReadonlyMap<string, RowsAt>;
}

export const MIXES_SUMS = "combines rows with values computed over this rank's own rows";
const MIXES_DIMS = 'combines rows that are in different dims';

/**
 * Aligns inputs with rows that broadcast against each other and against whole inputs. A whole input
 * with the same number of rows is cut. Returns the reason as text if they cannot be aligned.
 */
export function alignment(call: ShardedCall, names: readonly string[] = call.names): Alignment | string {
  const rank = Math.max(...names.map((name) => call.shape(name).length));
  let found: { fromEnd: number; times: number } | undefined;
  for (const name of names) {
    if (call.isSum(name)) return MIXES_SUMS;
    const at = call.rows(name);
    if (!at) continue;
    const fromEnd = call.shape(name).length - at.dim;
    if (found && (found.fromEnd !== fromEnd || found.times !== at.times)) return MIXES_DIMS;
    found = { fromEnd, times: at.times };
  }
  if (!found) return 'has no input with rows';
  const { fromEnd, times } = found;
  const cuts = new Map<string, RowsAt>();
  for (const name of names) {
    const shape = call.shape(name);
    const dim = shape.length - fromEnd;
    if (call.isWhole(name) && dim >= 0 && shape[dim] !== 1) cuts.set(name, { dim, times });
  }
  return { at: { dim: rank - fromEnd, times }, cuts };
}
