import type { RowsAt } from '@acc/contract';
import { rows, sum, type Plan, type Rule } from './plan.js';
import type { ShardedCall } from './sharded-call.js';

const FIRST: RowsAt = { dim: 0, times: 1 };

/**
 * Cuts `names` along dim 0. Rows in any other input are not allowed. Returns the reason as text if
 * that is not possible.
 */
function cutFirst(call: ShardedCall, names: readonly string[]): ReadonlyMap<string, RowsAt> | string {
  const cuts = new Map<string, RowsAt>();
  for (const name of call.names) {
    const at = call.rows(name);
    if (call.isSum(name)) return "takes values computed over this rank's own rows";
    if (!names.includes(name)) {
      if (at) return `takes rows as its ${name}`;
    } else if (!at) cuts.set(name, FIRST);
    else if (at.dim !== 0 || at.times !== 1) return `takes ${name} with samples in its first dim only`;
  }
  return cuts;
}

/** Computes each sample by itself. Dim 0 of `names` holds the samples. */
export function bySample(...names: string[]): Rule {
  return (call) => {
    const cuts = cutFirst(call, names);
    return typeof cuts === 'string' ? cuts : { results: rows(0), cuts };
  };
}

/** Like {@link bySample}, for kernels whose attribute `inputShape` is the shape of the result. */
export function bySampleToShape(...names: string[]): Rule {
  return (call) => {
    const plan = bySample(...names)(call);
    if (typeof plan === 'string') return plan;
    const [samples, ...rest] = call.attrs['inputShape'] as [number, ...number[]];
    return { ...plan, attrs: { inputShape: [samples / call.shards, ...rest] } } satisfies Plan;
  };
}

/** Sums over all samples. */
export function overSamples(...names: string[]): Rule {
  return (call) => {
    const cuts = cutFirst(call, names);
    return typeof cuts === 'string' ? cuts : { results: sum(), cuts };
  };
}
