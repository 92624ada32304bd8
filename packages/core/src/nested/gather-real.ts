import { concat, slice, tidy, transpose, Tensor } from '@tensorflow/tfjs-core';
import { isPlainRecord, type Collective, type Mesh, type StateArray } from '@acc/contract';
import { containsTensors, mapLeaves } from '@acc/tape';
import type { BatchRows } from '../step/batch-rows.js';

/**
 * The result of `Accelerator.gatherForMetrics`: tensors and lists keep their kind, and any other
 * value becomes a list.
 */
export type Gathered<T> = T extends Tensor | StateArray
  ? T
  : T extends readonly unknown[]
    ? true extends HoldsTensors<T>
      ? { -readonly [K in keyof T]: Gathered<T[K]> }
      : T[number][]
    : T extends Readonly<Record<string, unknown>>
      ? { -readonly [K in keyof T]: Gathered<T[K]> }
      : T[];

/** Looks only to a certain depth, because types may contain themselves. */
type HoldsTensors<T, Depth extends readonly unknown[] = []> = Depth['length'] extends 4
  ? false
  : T extends Tensor
    ? true
    : T extends readonly (infer Item)[]
      ? HoldsTensors<Item, [...Depth, unknown]>
      : T extends Readonly<Record<string, unknown>>
        ? { [K in keyof T]: HoldsTensors<T[K], [...Depth, unknown]> }[keyof T]
        : false;

/**
 * Gathers tensors and other values over ranks. Removes the rows that only pad the last step. A leaf
 * that does not have one row for each row of the batch, for example a loss, is kept completely.
 *
 * Where ranks have shards of rows, shards of tensors of rank 2 and above are joined along dim 1.
 * Other leaves are those of every shard.
 *
 * @throws AccError `ACC_OBJECT_NOT_SERIALIZABLE`.
 */
export function gatherReal<T>(values: T, batch: BatchRows | undefined, mesh: MetricMesh): Gathered<T> {
  const { dataRanks, gradientRanks } = mesh;
  const shards = mesh.along('context');
  const ofShards = batch && forEachShard(batch, shards.size);
  const gathered = mapLeaves(values, isMetricLeaf, (leaf) => {
    if (!(leaf instanceof Tensor)) return gatherItems(leaf, ofShards, gradientRanks);
    if (shards.size === 1 || leaf.rank < 2) return gatherRows(leaf, ofShards, gradientRanks);
    const full = joinShards(leaf, shards);
    const rows = gatherRows(full, batch, dataRanks);
    full.dispose();
    return rows;
  });
  return gathered as Gathered<T>;
}

/** The groups of a mesh over which metrics are gathered. */
export type MetricMesh = Pick<Mesh, 'dataRanks' | 'gradientRanks' | 'along'>;

/** The rows of each rank of `gradientRanks`: those of a data rank are those of all its shards. */
function forEachShard(batch: BatchRows, shards: number): BatchRows {
  const repeated = (rows: readonly number[]) =>
    rows.flatMap((count) => new Array<number>(shards).fill(count));
  return { ...batch, rows: repeated(batch.rows), realRows: repeated(batch.realRows) };
}

/** Joins shards along dim 1. */
function joinShards(x: Tensor, shards: Collective): Tensor {
  return tidy(() => {
    const swapped = x.shape.map((_, dim) => (dim < 2 ? 1 - dim : dim));
    return transpose(shards.allGather(transpose(x, swapped)), swapped);
  });
}

/**
 * Whether a value is gathered as a whole. Records and arrays that contain tensors are not. Other
 * arrays are lists with one item for each row.
 */
export function isMetricLeaf(value: unknown): boolean {
  return Array.isArray(value) ? !containsTensors(value) : !isPlainRecord(value);
}

function gatherRows(x: Tensor, batch: BatchRows | undefined, collective: Collective): Tensor {
  const all = collective.allGather(x);
  if (!batch || !isFilled(batch) || x.rank === 0 || all.shape[0] !== sum(batch.rows)) return all;
  const real = tidy(() => {
    let start = 0;
    const parts = batch.rows.map((rows, rank) => {
      const part = slice(all, start, batch.realRows[rank]!);
      start += rows;
      return part;
    });
    return concat(parts);
  });
  all.dispose();
  return real;
}

/** Joins lists in rank order. Other values give one item per rank. */
function gatherItems(own: unknown, batch: BatchRows | undefined, collective: Collective): unknown {
  const parts = collective.allGatherObject(isList(own) ? { list: own } : { item: own });
  const hasRows = batch?.rows.every((rows, rank) => parts[rank]?.list?.length === rows);
  const items = parts.flatMap(({ list, item }, rank): unknown[] =>
    list ? [...list.slice(0, hasRows ? batch!.realRows[rank] : undefined)] : [item],
  );
  return isTyped(own) ? (own.constructor as typeof Float32Array).from(items as number[]) : items;
}

function isList(value: unknown): value is readonly unknown[] | StateArray {
  return Array.isArray(value) || isTyped(value);
}

function isTyped(value: unknown): value is StateArray {
  return ArrayBuffer.isView(value) && !(value instanceof DataView);
}

function isFilled({ rows, realRows }: BatchRows): boolean {
  return rows.some((count, rank) => count !== realRows[rank]);
}

function sum(counts: readonly number[]): number {
  return counts.reduce((total, count) => total + count, 0);
}
