// Kernels that only the backend `acc` has. Inputs without a name are numbered.
import type { RowsAt } from '@acc/contract';
import { alignment, MIXES_SUMS } from './aligned.js';
import { elementwise } from './elementwise.js';
import { bySample } from './images.js';
import { rows, sum, type Plan, type Result, type Rule } from './plan.js';
import type { ShardedCall } from './sharded-call.js';

/** All inputs have the shape of the first, and all have rows. */
function sameShape(call: ShardedCall, names: readonly string[], free: number): Plan | string {
  const aligned = alignment(call, names);
  if (typeof aligned === 'string') return aligned;
  const { at, cuts } = aligned;
  if (at.dim >= call.shape(names[0]!).length - free) return 'works along the rows';
  return { results: { kind: 'rows', at }, cuts };
}

/** Normalisation over the last dims. Gain and bias are whole. */
export const norm: Rule = (call) => sameShape(call, ['0'], call.attrs['dims'] as number);

/** The inputs are dy, x, optional gain and bias, and the output. */
export const normGradient: Rule = (call) => {
  const { names } = call;
  const plan = sameShape(call, [names[0]!, names[1]!, names.at(-1)!], call.attrs['dims'] as number);
  if (typeof plan === 'string') return plan;
  const ofWeights = names.slice(2, -1).map((): Result => sum());
  return { ...plan, results: [plan.results as Result, ...ofWeights] };
};

/** A kernel that works along the last `free` dims of its only input. */
export function withinLast(name: string, free: number): Rule {
  return (call) => sameShape(call, [name], free);
}

/** The inputs are q, k, v and an optional mask, of shape `[batch, heads, …]`. */
export const attention: Rule = (call) => attentionPlan(call, ['0', '1', '2'], '3');

/** The inputs are dy, q, k, v, an optional mask, and the output. */
export const attentionGradient: Rule = (call) =>
  attentionPlan(call, ['0', '1', '2', '3', call.names.at(-1)!], call.names.length > 5 ? '4' : undefined);

/** Samples, and heads, are computed one by one. */
function attentionPlan(call: ShardedCall, names: readonly string[], mask: string | undefined): Plan | string {
  const ats = names.flatMap((name) => call.rows(name) ?? []);
  if (call.names.some((name) => call.isSum(name))) return MIXES_SUMS;
  const [at = FIRST_DIM] = ats;
  if (at.dim > 1 || ats.some(({ dim, times }) => dim !== at.dim || times !== 1))
    return 'takes shards of the batch or of the heads only';
  const cuts = new Map<string, RowsAt>();
  for (const name of names) if (!call.rows(name)) cuts.set(name, at);
  if (mask !== undefined && call.inputs.has(mask)) {
    const shape = call.shape(mask);
    const dim = at.dim - (4 - shape.length);
    const ofMask = call.rows(mask);
    if (ofMask && ofMask.dim !== dim) return MIXES_SUMS;
    if (!ofMask && dim >= 0 && shape[dim] !== 1) cuts.set(mask, { dim, times: 1 });
  }
  return { results: { kind: 'rows', at }, cuts };
}

const FIRST_DIM: RowsAt = { dim: 0, times: 1 };

/** The inputs are x of shape `[batch, steps, …]`, weights, and optional states. */
export const recurrent: Rule = (call) => {
  const states = call.attrs['hasStates'] ? call.names.slice(call.attrs['hasBias'] ? 4 : 3) : [];
  return bySample('0', ...states)(call);
};

/**
 * The first results have the rows of all steps, one step after another. The gradients of states
 * follow, then that of a bias, the only vector.
 */
export const recurrentGradient: Rule = (call) => {
  const weight = call.names.at(-2)!;
  const plan = bySample(...call.names.filter((name) => name !== weight))(call);
  if (typeof plan === 'string') return plan;
  const samples = call.shape(call.names.at(-1)!)[0]! / call.shards;
  return { ...plan, results: (shape) => (shape.length === 1 ? sum() : rows(0, shape[0]! / samples)) };
};

/** The input has shape `[…, classes]`. The result is one number for all samples, or one for each. */
export const crossEntropy =
  (drops: 'lastDim' | 'nothing'): Rule =>
  (call) => {
    const plan = sameShape(call, ['logits', 'labels'], drops === 'lastDim' ? 1 : 0);
    if (typeof plan === 'string') return plan;
    if ((plan.cuts?.get('labels')?.dim ?? 0) !== 0)
      return 'takes labels that are not prepared data, or have samples in another dim';
    return call.attrs['isMean'] ? { ...plan, results: sum(1 / call.shards) } : plan;
  };

/**
 * A mean over all samples is divided by the number of samples in a shard, which is smaller by the
 * number of shards.
 */
export const softmaxCrossEntropyGradient: Rule = (call) => {
  const at = call.rows('labels') ?? { dim: 0, times: 1 };
  const cuts = new Map<string, RowsAt>();
  if (call.isWhole('labels')) cuts.set('labels', at);
  if (!call.attrs['isMean']) {
    const aligned = alignment(call, ['dy', 'loss']);
    if (typeof aligned === 'string') return aligned;
    for (const [name, cut] of aligned.cuts) cuts.set(name, cut);
    return { results: { kind: 'rows', at }, cuts };
  }
  if (!call.isWhole('dy') || !call.isSum('loss')) return MIXES_SUMS;
  return { results: { kind: 'rows', at }, cuts, factors: new Map([['dy', 1 / call.shards]]) };
};

export const sigmoidCrossEntropyGradient: Rule = (call) => {
  if (!call.attrs['isMean']) return elementwise(call);
  const plan = sameShape(call, ['logits', 'labels'], 0);
  if (typeof plan === 'string') return plan;
  return call.isWhole('dy') ? { ...plan, factors: new Map([['dy', 1 / call.shards]]) } : MIXES_SUMS;
};
