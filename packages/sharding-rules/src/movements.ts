import { slice_util, util } from '@tensorflow/tfjs-core';
import type { RowsAt } from '@acc/contract';
import { alignment, MIXES_SUMS } from './aligned.js';
import { rows, type Rule } from './plan.js';

const ALONG_ROWS = 'works along the rows';

/**
 * The result has its rows in the same dim as the input `x`, unless `touches` says that the kernel
 * works along this dim.
 */
export function keepsDim(
  touches: (dim: number, attrs: Readonly<Record<string, unknown>>, shape: readonly number[]) => boolean,
  name = 'x',
): Rule {
  return (call) => {
    const at = call.rows(name)!;
    if (touches(at.dim, call.attrs, call.shape(name))) return ALONG_ROWS;
    return { results: rows(at.dim, at.times) };
  };
}

export const transpose: Rule = (call) => {
  const at = call.rows('x')!;
  return { results: rows((call.attrs['perm'] as number[]).indexOf(at.dim), at.times) };
};

/** Along the rows, whole repetitions are taken. */
export const slice: Rule = (call) => {
  const { dim, times } = call.rows('x')!;
  const shape = call.shape('x');
  const { begin, size } = call.attrs as { begin: number; size: number };
  const [from, lengths] = slice_util.parseSliceParams({ shape } as never, begin, size) as [
    number[],
    number[],
  ];
  const repetition = shape[dim]! / times;
  const taken = lengths[dim]! / repetition;
  if (taken === 0 || !Number.isInteger(taken) || !Number.isInteger(from[dim]! / repetition))
    return 'takes some of the rows';
  const ofShard = (list: number[]) => list.with(dim, list[dim]! / call.shards);
  return { results: rows(dim, taken), attrs: { begin: ofShard(from), size: ofShard(lengths) } };
};

/**
 * Along the rows, the result has the repetitions of all inputs, which are equally long: [q₁ q₂],
 * [k₁ k₂] become [q₁ q₂ | k₁ k₂].
 */
export const concat: Rule = (call) => {
  const { names } = call;
  const [axis] = call.dims('axis', names[0]!) as [number];
  const known = names.flatMap((name) => {
    const at = call.rows(name);
    return at?.dim === axis ? [call.shape(name)[axis]! / at.times] : [];
  });
  const [length] = known;
  if (length === undefined) {
    const aligned = alignment(call);
    return typeof aligned === 'string'
      ? aligned
      : { results: { kind: 'rows', at: aligned.at }, cuts: aligned.cuts };
  }
  if (names.some((name) => call.isSum(name))) return MIXES_SUMS;
  const times = names.map((name) => call.shape(name)[axis]! / length);
  const fits = times.every(Number.isInteger) && known.every((own) => own === length);
  if (!fits || names.some((name) => (call.rows(name)?.dim ?? axis) !== axis)) return ALONG_ROWS;
  const cuts = new Map<string, RowsAt>();
  for (const [i, name] of names.entries())
    if (call.isWhole(name)) cuts.set(name, { dim: axis, times: times[i]! });
  const inResult = times.reduce((sum, each) => sum + each);
  return { results: rows(axis, inResult), cuts };
};

/** The inputs become slices along a new dim. */
export const pack: Rule = (call) => {
  const aligned = alignment(call);
  if (typeof aligned === 'string') return aligned;
  const { dim, times } = aligned.at;
  const rank = call.shape(call.names[0]!).length + 1;
  const axis = call.attrs['axis'] as number;
  return { results: rows((axis < 0 ? axis + rank : axis) <= dim ? dim + 1 : dim, times), cuts: aligned.cuts };
};

/**
 * Along the rows, parts that are whole repetitions have a shard of each. Longer parts than others, as
 * queries beside fewer keys have, are gathered where they need to be in one piece.
 */
export const split: Rule = (call) => {
  const { dim, times } = call.rows('x')!;
  const shape = call.shape('x');
  const [axis] = call.dims('axis', 'x') as [number];
  if (axis !== dim) return { results: rows(dim, times) };
  const given = call.attrs['numOrSizeSplits'] as number | number[];
  const sizes = Array.isArray(given) ? given : new Array<number>(given).fill(shape[dim]! / given);
  const each = sizes.map((size) => size / (shape[dim]! / times));
  if (!each.every((count) => Number.isInteger(count) && count > 0)) return ALONG_ROWS;
  return {
    results: each.map((count) => ({
      ...rows(dim, count),
      ...(count > Math.min(...each) && { gathers: true }),
    })),
    attrs: { numOrSizeSplits: sizes.map((size) => size / call.shards) },
  };
};

export const unpack: Rule = (call) => {
  const at = call.rows('value')!;
  const [axis] = call.dims('axis', 'value') as [number];
  if (axis === at.dim) return ALONG_ROWS;
  return { results: rows(axis < at.dim ? at.dim - 1 : at.dim, at.times) };
};

/** Gathers from a whole table by indices with rows, or within the rows of `x`. */
export const gather: Rule = (call) => {
  const [axis] = call.dims('axis', 'x') as [number];
  const batchDims = (call.attrs['batchDims'] as number | undefined) ?? 0;
  const [ofX, ofIndices] = [call.rows('x'), call.rows('indices')];
  if (ofX && ofIndices) {
    const isWithinRows =
      batchDims > 0 && ofX.dim === 0 && ofIndices.dim === 0 && ofX.times === ofIndices.times;
    return isWithinRows ? { results: rows(0, ofX.times) } : 'takes some of the rows';
  }
  if (batchDims > 0) return 'gathers from rows by whole indices, or from a whole table by rows';
  if (ofIndices) return { results: rows(axis + ofIndices.dim, ofIndices.times) };
  const at = ofX!;
  if (at.dim === axis) return 'takes some of the rows';
  const added = call.shape('indices').length - 1;
  return { results: rows(at.dim < axis ? at.dim : at.dim + added, at.times) };
};

/** Gathers from a whole table. */
export const gatherNd: Rule = (call) => {
  const at = call.rows('indices');
  if (!at || call.rows('params')) return 'takes some of the rows';
  return at.dim === call.shape('indices').length - 1 ? ALONG_ROWS : { results: rows(at.dim, at.times) };
};

/** Whether paddings change a dim. */
export const isPadded = (dim: number, { paddings }: Readonly<Record<string, unknown>>): boolean =>
  (paddings as number[][])[dim]!.some((count) => count !== 0);

export const isTiled = (dim: number, { reps }: Readonly<Record<string, unknown>>): boolean =>
  (reps as number[])[dim] !== 1;

export const isAmong =
  (attr: string) =>
  (dim: number, attrs: Readonly<Record<string, unknown>>, shape: readonly number[]): boolean =>
    util.parseAxisParam(attrs[attr] as number | number[], [...shape]).includes(dim);

export const isLast = (dim: number, _attrs: unknown, shape: readonly number[]): boolean =>
  dim === shape.length - 1;
