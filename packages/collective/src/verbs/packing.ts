import type { NativeTensor } from '@acc/contract';
import { operator, operatorInPlace, type Tensor as Native } from '@acc/native';
import { sizeOf } from '../tensors.js';

const cat = operator('aten::cat');
const narrow = operator('aten::narrow');
const contiguous = operator('aten::contiguous');
const reshape = operator('aten::reshape');
const copyInto = operatorInPlace('aten::copy_');
const toDtype = operator('aten::to.dtype');

/** Tensors of one element type, packed into one tensor of shape `[lanes, …]`. */
export interface Packed {
  /** The positions of the tensors in the original list. */
  readonly places: readonly number[];
  readonly buffer: Native;
}

/**
 * Packs tensors into one buffer for each element type. The caller disposes the buffers.
 *
 * @param lanes The number of equal pieces that each tensor is cut into. A buffer holds the first
 * pieces of all tensors, then the second pieces, and so on.
 */
export function pack(tensors: readonly NativeTensor[], lanes: number): Packed[] {
  return [...placesByDtype(tensors).values()].map((places) => {
    const parts = places.map((i) =>
      reshape(tensors[i] as Native, [lanes, sizeOf(tensors[i]!.shape) / lanes]),
    );
    const buffer = cat(parts, 1);
    for (const part of parts) part.dispose();
    return { places, buffer };
  });
}

/** The positions of the tensors of each element type. */
export function placesByDtype(tensors: readonly NativeTensor[]): Map<string, number[]> {
  const groups = new Map<string, number[]>();
  tensors.forEach(({ dtype }, i) => groups.set(dtype, [...(groups.get(dtype) ?? []), i]));
  return groups;
}

/** A tensor to unpack from a buffer. */
export interface Wanted {
  readonly shape: readonly number[];
  /** Memory for the tensor. It becomes the result. */
  readonly target?: Native | undefined;
}

/**
 * Unpacks the tensors of a buffer of shape `[lanes, …]`, in order. Disposes the buffer.
 *
 * @param dtype The element type of the results. Default: that of the buffer.
 */
export function unpack(
  buffer: Native,
  lanes: number,
  wanted: readonly Wanted[],
  dtype?: NativeTensor['dtype'],
): Native[] {
  using flat = reshape(buffer, [lanes, sizeOf(buffer.shape) / lanes]);
  buffer.dispose();
  let at = 0;
  return wanted.map(({ shape, target }) => {
    const width = sizeOf(shape) / lanes;
    using part = narrow(flat, 1, at, width);
    at += width;
    if (target) {
      using seen = reshape(target, [lanes, width]);
      copyInto(seen, part);
      return target;
    }
    using full = contiguous(part);
    if (!dtype) return reshape(full, shape);
    using converted = toDtype(full, dtype);
    return reshape(converted, shape);
  });
}
