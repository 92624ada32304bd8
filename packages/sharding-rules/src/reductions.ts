import { rows, sum, type Plan, type Rule } from './plan.js';
import type { ShardedCall } from './sharded-call.js';

/**
 * The result of reducing `x` over the dims in the attribute `attr`. `overRows` is used if the rows
 * are in one of them.
 */
function reduced(call: ShardedCall, attr: string, overRows: () => Plan | string): Plan | string {
  const at = call.rows('x')!;
  const dims = call.dims(attr, 'x');
  if (dims.includes(at.dim)) return overRows();
  const before = call.attrs['keepDims'] ? 0 : dims.filter((dim) => dim < at.dim).length;
  return { results: rows(at.dim - before, at.times) };
}

export const sumOf: Rule = (call) => reduced(call, 'axis', () => ({ results: sum() }));

/** All shards have the same number of rows, so the mean of their means is the total mean. */
export const meanOf: Rule = (call) => reduced(call, 'axis', () => ({ results: sum(1 / call.shards) }));

/** Reductions over rows that cannot be computed from a sum of shards. */
export const reductionWithinRows =
  (attr = 'axis'): Rule =>
  (call) =>
    reduced(call, attr, () => 'reduces over all rows');
