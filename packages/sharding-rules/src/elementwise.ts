import { alignment } from './aligned.js';
import type { Rule } from './plan.js';

/** Elementwise kernels, with broadcasting. */
export const elementwise: Rule = (call) => {
  const aligned = alignment(call);
  if (typeof aligned === 'string') return aligned;
  return { results: { kind: 'rows', at: aligned.at }, cuts: aligned.cuts };
};

/** Like {@link elementwise}, for kernels that work along the dim `dimOf`. */
export function alongDim(
  name: string,
  dimOf: (attrs: Readonly<Record<string, unknown>>) => number | undefined,
): Rule {
  return (call) => {
    const plan = elementwise(call);
    const at = call.rows(name);
    if (typeof plan === 'string' || !at) return plan;
    const rank = call.shape(name).length;
    const dim = dimOf(call.attrs) ?? -1;
    return (dim < 0 ? dim + rank : dim) === at.dim ? 'works along the rows' : plan;
  };
}
