import type { NativeTensor } from '@acc/contract';
import { operator, type Tensor as Native } from '@acc/native';
import { sizeOf } from '../tensors.js';

const cat = operator('aten::cat');
const narrow = operator('aten::narrow');
const contiguous = operator('aten::contiguous');
const reshape = operator('aten::reshape');

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

/**
 * The tensors of a buffer `[lanes, …]`, in their order; takes it over.
 *
 * @param shapes What each becomes.
 */
export function unpack(buffer: Native, lanes: number, shapes: readonly (readonly number[])[]): Native[] {
  using flat = reshape(buffer, [lanes, sizeOf(buffer.shape) / lanes]);
  buffer.dispose();
  let at = 0;
  return shapes.map((shape) => {
    const width = sizeOf(shape) / lanes;
    using part = narrow(flat, 1, at, width);
    at += width;
    using whole = contiguous(part);
    return reshape(whole, shape);
  });
}
