import type { ResizeNearestNeighborAttrs } from '@tensorflow/tfjs-core';
import { operator, tensorFrom, type Tensor as NativeTensor } from '@acc/native';

const reshape = operator('aten::reshape');
const expand = operator('aten::expand');
const indexSelect = operator('aten::index_select');
const indexAdd = operator('aten::index_add');
const newZeros = operator('aten::new_zeros');

type Shape4D = readonly [number, number, number, number];
type Grid = Pick<ResizeNearestNeighborAttrs, 'alignCorners' | 'halfPixelCenters'>;

/**
 * For each of `outSize` rows, the source row among `size` rows. Computed in doubles, as in tfjs.
 */
export function nearestSources(
  size: number,
  outSize: number,
  { alignCorners, halfPixelCenters }: Grid,
): number[] {
  const ratio = alignCorners && outSize > 1 ? (size - 1) / (outSize - 1) : size / outSize;
  return Array.from({ length: outSize }, (_, row) => {
    const source = ratio * (halfPixelCenters ? row + 0.5 : row);
    return Math.min(size - 1, alignCorners ? Math.round(source) : Math.floor(source));
  });
}

/**
 * How often each row is repeated, if all rows are repeated equally often and in order; else
 * undefined.
 */
export function repeats(sources: readonly number[], size: number): number | undefined {
  const factor = sources.length / size;
  const isRegular =
    Number.isInteger(factor) && sources.every((source, i) => source === Math.floor(i / factor));
  return isRegular ? factor : undefined;
}

/** Selects the given rows and columns of `[batch, height, width, channels]`. Caller disposes. */
export function pickPixels(
  x: NativeTensor,
  rows: readonly number[],
  columns: readonly number[],
): NativeTensor {
  const [batch, height, width, channels] = x.shape as unknown as Shape4D;
  const [rowRepeats, columnRepeats] = [repeats(rows, height), repeats(columns, width)];
  if (rowRepeats && columnRepeats) {
    using apart = reshape(x, [batch, height, 1, width, 1, channels]);
    using repeated = expand(apart, [batch, height, rowRepeats, width, columnRepeats, channels]);
    return reshape(repeated, [batch, rows.length, columns.length, channels]);
  }
  using rowIndex = indexOf(rows);
  using columnIndex = indexOf(columns);
  using narrow = indexSelect(x, 2, columnIndex);
  return indexSelect(narrow, 1, rowIndex);
}

/** The gradient of {@link pickPixels}: adds each pixel of `dy` at its source. Caller disposes. */
export function addPixels(
  dy: NativeTensor,
  [batch, height, width, channels]: Shape4D,
  rows: readonly number[],
  columns: readonly number[],
): NativeTensor {
  using rowIndex = indexOf(rows);
  using columnIndex = indexOf(columns);
  using noRows = newZeros(dy, [batch, height, columns.length, channels]);
  using summedRows = indexAdd(noRows, 1, rowIndex, dy);
  using none = newZeros(dy, [batch, height, width, channels]);
  return indexAdd(none, 2, columnIndex, summedRows);
}

function indexOf(positions: readonly number[]): NativeTensor {
  return tensorFrom(Int32Array.from(positions), 'int32', [positions.length]);
}
