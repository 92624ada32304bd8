import { util, type TensorInfo } from '@tensorflow/tfjs-core';
import { operator, type Tensor as NativeTensor } from '@acc/native';
import type { AccBackend } from '../backend.js';
import { sameData } from './same-data.js';
import { mayView } from './views.js';

const slice = operator('aten::slice.Tensor');
const sliceCopy = operator('aten::slice_copy.Tensor');

/** Selects the elements `start`, `start + step`, … before `end` along `dim`; `step` is above 0. */
export interface Cut {
  readonly dim: number;
  readonly start: number;
  readonly end: number;
  readonly step: number;
}

/**
 * A box of `x`: a view, or a copy if a view would keep too much memory alive. Without cuts, `x`'s
 * own data.
 */
export function sliceBox(
  backend: AccBackend,
  x: TensorInfo,
  cuts: readonly Cut[],
  shape: number[],
): TensorInfo {
  if (cuts.length === 0) return sameData(backend, x);
  const isView = mayView(backend, x, util.sizeFromShape(shape));
  const box = applyCuts(backend.native(x), cuts, isView ? slice : sliceCopy);
  return backend.wrap(box, x.dtype, isView ? backend.keptElements(x) : undefined);
}

/**
 * Applies all cuts as views, except the last one, which `last` applies. Needs at least one cut.
 * Caller disposes.
 */
function applyCuts(x: NativeTensor, cuts: readonly Cut[], last: typeof slice): NativeTensor {
  const [{ dim, start, end, step }, ...others] = cuts as [Cut, ...Cut[]];
  if (others.length === 0) return last(x, dim, start, end, step);
  using part = slice(x, dim, start, end, step);
  return applyCuts(part, others, last);
}
