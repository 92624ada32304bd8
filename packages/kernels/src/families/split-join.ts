import { util, type TensorInfo } from '@tensorflow/tfjs-core';
import { operator, type OperatorResult, type Tensor as NativeTensor } from '@acc/native';
import type { AccBackend } from '../backend.js';
import { mayView } from './views.js';

const slice = operator('aten::slice.Tensor');

/** The maximum number of tensors that one call passes or returns. */
const TENSORS_PER_CALL = 1024;

/**
 * Cuts a tensor along a dim into parts of the given sizes. The first result is the list of parts.
 */
export type Cutter = (x: NativeTensor, sizes: readonly number[], dim: number) => OperatorResult[];

/**
 * Cuts `x` along `dim` into parts of `sizes`. The parts are views, unless a view would keep too
 * much memory alive for the smallest part: all parts are then copies.
 */
export function splitTensor(
  backend: AccBackend,
  x: TensorInfo,
  sizes: readonly number[],
  dim: number,
  intoViews: Cutter,
  intoCopies: Cutter,
): TensorInfo[] {
  const smallest = sizes.reduce((least, size) => Math.min(least, size), Infinity);
  const isView = mayView(backend, x, smallest * util.sizeFromShape(x.shape.toSpliced(dim, 1)));
  const kept = isView ? backend.keptElements(x) : undefined;
  const parts = cutInCalls(backend.native(x), sizes, dim, isView ? intoViews : intoCopies);
  return parts.map((part) => backend.wrap(part, x.dtype, kept));
}

function cutInCalls(x: NativeTensor, sizes: readonly number[], dim: number, cut: Cutter): NativeTensor[] {
  if (sizes.length <= TENSORS_PER_CALL) return cut(x, sizes, dim)[0] as NativeTensor[];
  const parts: NativeTensor[] = [];
  let start = 0;
  for (const some of chunked(sizes)) {
    const end = some.reduce((sum, size) => sum + size, start);
    using stretch = slice(x, dim, start, end);
    parts.push(...(cut(stretch, some, dim)[0] as NativeTensor[]));
    start = end;
  }
  return parts;
}

/**
 * Joins `tensors` with `join` along `dim`, in a single call if possible. With several calls, `cat`
 * concatenates their results.
 */
export function joinTensors(
  tensors: readonly NativeTensor[],
  dim: number,
  join: (tensors: readonly NativeTensor[], dim: number) => NativeTensor,
  cat: (tensors: readonly NativeTensor[], dim: number) => NativeTensor,
): NativeTensor {
  if (tensors.length <= TENSORS_PER_CALL) return join(tensors, dim);
  const stretches = chunked(tensors).map((some) => join(some, dim));
  const joined = joinTensors(stretches, dim, cat, cat);
  for (const stretch of stretches) stretch.dispose();
  return joined;
}

function chunked<T>(list: readonly T[]): T[][] {
  const chunks: T[][] = [];
  for (let at = 0; at < list.length; at += TENSORS_PER_CALL)
    chunks.push(list.slice(at, at + TENSORS_PER_CALL));
  return chunks;
}
