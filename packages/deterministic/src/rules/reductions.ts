import { rows, sum, type Plan, type Rule } from './plan.js';
import type { ShardedCall } from './sharded-call.js';

/** What `x` becomes when the dims of `attr` go; `overRows` where rows lie in one of them. */
function reduced(call: ShardedCall, attr: string, overRows: () => Plan | string): Plan | string {
  const at = call.rows('x')!;
  const dims = call.dims(attr, 'x');
  if (dims.includes(at.dim)) return overRows();
  const before = call.attrs['keepDims'] ? 0 : dims.filter((dim) => dim < at.dim).length;
  return { results: rows(at.dim - before, at.times) };
}

export const sumOf: Rule = (call) => reduced(call, 'axis', () => ({ results: sum() }));

/** Pieces have as many rows each, so that the mean of all is that of their means. */
export const meanOf: Rule = (call) => reduced(call, 'axis', () => ({ results: sum(1 / call.pieces) }));

/** Of reductions that no sum of pieces gives. */
export const reductionWithinRows =
  (attr = 'axis'): Rule =>
  (call) =>
    reduced(call, attr, () => 'goes over all rows');
