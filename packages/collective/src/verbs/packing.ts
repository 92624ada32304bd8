import type { NativeTensor } from '@acc/contract';
import { operator, operatorInPlace, type Tensor as Native } from '@acc/native';
import { sizeOf } from '../tensors.js';

const cat = operator('aten::cat');
const narrow = operator('aten::narrow');
const contiguous = operator('aten::contiguous');
const reshape = operator('aten::reshape');
const copyInto = operatorInPlace('aten::copy_');
const toDtype = operator('aten::to.dtype');

/** Tensors of one element type that travel as one `[lanes, …]`. */
export interface Packed {
  /** Their places in the list that they came from. */
  readonly places: readonly number[];
  readonly buffer: Native;
}

/**
 * Packs tensors, those of each element type together. The caller disposes the buffers.
 *
 * @param lanes Each tensor is cut into so many equal pieces; a buffer holds the first pieces of all, then the second ones.
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

/** For each element type the places of its tensors. */
export function placesByDtype(tensors: readonly NativeTensor[]): Map<string, number[]> {
  const groups = new Map<string, number[]>();
  tensors.forEach(({ dtype }, i) => groups.set(dtype, [...(groups.get(dtype) ?? []), i]));
  return groups;
}

/** A tensor of a buffer. */
export interface Wanted {
  readonly shape: readonly number[];
  /** Memory for it, which becomes the tensor. */
  readonly target?: Native | undefined;
}

/**
 * The tensors of a buffer `[lanes, …]`, in their order; takes it over.
 *
 * @param dtype The element type that they get, where it is another than the buffer's.
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
    using whole = contiguous(part);
    if (!dtype) return reshape(whole, shape);
    using converted = toDtype(whole, dtype);
    return reshape(converted, shape);
  });
}
