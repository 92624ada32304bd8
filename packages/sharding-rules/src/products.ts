import type { RowsAt } from '@acc/contract';
import { rows, sum, type Plan, type Result, type Rule } from './plan.js';
import type { ShardedCall } from './sharded-call.js';

/** The role of a factor's dim in the product. Dims before the last two are counted from the end. */
type Role = 'own' | 'summed' | number;

const MIXES = 'needs all shards of one factor for each shard of the other';

/**
 * The role of the rows in `a` of shape `[…, M, K]`, or in `b` of shape `[…, K, N]`. With
 * transposition, the last two dims are swapped.
 */
function roleOf(call: ShardedCall, name: 'a' | 'b'): { role: Role; at: RowsAt } | undefined {
  const at = call.rows(name);
  if (!at) return undefined;
  const fromEnd = call.shape(name).length - at.dim;
  if (fromEnd > 2) return { role: fromEnd, at };
  const isTransposed = Boolean(call.attrs[name === 'a' ? 'transposeA' : 'transposeB']);
  const ownFromEnd = (name === 'a') === isTransposed ? 1 : 2;
  return { role: fromEnd === ownFromEnd ? 'own' : 'summed', at };
}

/** The dim of a factor over which the product sums. */
function summedDim(call: ShardedCall, name: 'a' | 'b'): number {
  const isTransposed = Boolean(call.attrs[name === 'a' ? 'transposeA' : 'transposeB']);
  return call.shape(name).length - ((name === 'a') === isTransposed ? 2 : 1);
}

/** Products of matrices, with any batch dims. */
export const matMul: Rule = (call) => {
  if (call.isSum('a') || call.isSum('b')) return MIXES;
  const [a, b] = [roleOf(call, 'a'), roleOf(call, 'b')];
  const given = a ?? b;
  if (!given) return 'has no factor with rows';
  const other = a ? 'b' : 'a';
  const both = a && b;
  if (both && (a.role !== b.role || a.role === 'own' || a.at.times !== b.at.times)) return MIXES;
  const rank = Math.max(call.shape('a').length, call.shape('b').length);
  const { role, at } = given;
  if (role === 'own') return { results: rows(a ? rank - 2 : rank - 1, at.times) };
  if (role === 'summed') {
    const cuts = both ? undefined : new Map([[other, { dim: summedDim(call, other), times: at.times }]]);
    return { results: sum(), ...(cuts && { cuts }) };
  }
  const dim = call.shape(other).length - role;
  const isCut = !both && dim >= 0 && call.shape(other)[dim] !== 1;
  return {
    results: rows(rank - role, at.times),
    ...(isCut && { cuts: new Map([[other, { dim, times: at.times }]]) }),
  };
};

/**
 * With a bias by column, and the weights of prelu. They are whole if the rows are of `a`, and cut
 * like the columns of `b`.
 */
export const fusedMatMul: Rule = (call) => {
  const plan = matMul(call);
  if (typeof plan === 'string') return plan;
  const others = call.names.filter((name) => name !== 'a' && name !== 'b');
  if (others.length === 0 && isLinear(call)) return plan;
  const result = plan.results as Result;
  if (result.kind !== 'rows') return 'adds a bias to a result without rows, or is not linear in it';
  const isOfColumns = result.at.dim === Math.max(call.shape('a').length, call.shape('b').length) - 1;
  if (!isOfColumns) {
    const isByColumn = others.every((name) => call.isWhole(name) && call.shape(name).length <= 1);
    return isByColumn ? plan : 'adds a bias that is not by column';
  }
  const cuts = new Map(plan.cuts);
  for (const name of others) {
    const [dim, at] = [call.shape(name).length - 1, call.rows(name)];
    if (call.isSum(name) || (at && (at.dim !== dim || at.times !== result.at.times))) return MIXES;
    if (!at && dim >= 0 && call.shape(name)[dim] !== 1) cuts.set(name, { dim, times: result.at.times });
  }
  return { ...plan, cuts };
};

function isLinear({ attrs }: ShardedCall): boolean {
  const activation = attrs['activation'];
  return activation === undefined || activation === null || activation === 'linear';
}

/** Sums over letters. The rows belong to one letter. */
export const einsum: Rule = (call) => {
  const [left, right] = (call.attrs['equation'] as string).replace(/\s/g, '').split('->') as [string, string];
  const letters = left.split(',');
  const found = new Set<string>();
  for (const [i, name] of call.names.entries()) {
    if (call.isSum(name)) return MIXES;
    const at = call.rows(name);
    if (!at) continue;
    if (at.times !== 1) return MIXES;
    found.add(letters[i]![at.dim]!);
  }
  const [letter] = found;
  if (found.size !== 1) return MIXES;
  const cuts = new Map<string, RowsAt>();
  for (const [i, name] of call.names.entries()) {
    const dim = letters[i]!.indexOf(letter!);
    if (dim < 0) continue;
    if (call.isWhole(name)) cuts.set(name, { dim, times: 1 });
    else if (call.rows(name)!.dim !== dim) return MIXES;
  }
  const dim = right.indexOf(letter!);
  return { results: dim < 0 ? sum() : rows(dim), cuts } satisfies Plan;
};

/** Adds the rows of `values` to the rows of the result that `places` selects. */
export function scatterAdd(values: string, places: string): Rule {
  return (call) => {
    const names = [values, places];
    if (names.some((name) => call.isSum(name))) return MIXES;
    const ats = names.flatMap((name) => call.rows(name) ?? []);
    if (ats.some(({ dim, times }) => dim !== 0 || times !== ats[0]!.times)) return 'adds along another dim';
    const cuts = new Map(names.filter((name) => call.isWhole(name)).map((name) => [name, ats[0]!]));
    return { results: sum(), cuts };
  };
}

/** As `scatterAdd`; values that are cut along a later dim than that of the segments stay so. */
export const segmentSum: Rule = (call) => {
  const at = call.rows('x');
  if (!at || at.dim === 0 || !call.isWhole('segmentIds')) return scatterAdd('x', 'segmentIds')(call);
  return { results: rows(at.dim, at.times), cuts: new Map() };
};
