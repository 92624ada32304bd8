import { operator, type Tensor as NativeTensor } from '@acc/native';

const add = operator('aten::add.Tensor');
const and = operator('aten::logical_and');
const atLeast = operator('aten::ge.Scalar');
const castTo = operator('aten::_to_copy');
const clamp = operator('aten::clamp');
const choose = operator('aten::where.self');
const chooseScalar = operator('aten::where.ScalarOther');
const equal = operator('aten::eq.Tensor');
const floor = operator('aten::floor');
const addScalar = operator('aten::add.Scalar');
const indexSelect = operator('aten::index_select');
const lerp = operator('aten::lerp.Tensor');
const nanToNumber = operator('aten::nan_to_num');
const reshape = operator('aten::reshape');
const subtract = operator('aten::sub.Tensor');
const unsqueeze = operator('aten::unsqueeze');

/**
 * Points in images, in float64 as in JavaScript's numbers: the index of the image `[count, 1, 1]`,
 * the row and the column. All broadcast to `[count, height, width]`. A row or column that is NaN is
 * outside the image for `nearest`, and gives NaN for `bilinear`.
 */
export interface Points {
  readonly image: NativeTensor;
  readonly row: NativeTensor;
  readonly column: NativeTensor;
}

export type Interpolation = 'nearest' | 'bilinear';

/** The value of pixels outside an image: one value, or one for each channel. */
export type Fill = number | NativeTensor;

/**
 * The values of floating `images` `[batch, height, width, channels]` at points: `[count, height,
 * width, channels]`. Caller disposes.
 *
 * @param fill If absent, a pixel outside has the value of the nearest pixel inside.
 */
export function lookUp(
  images: NativeTensor,
  points: Points,
  interpolation: Interpolation,
  fill?: Fill,
): NativeTensor {
  using row = nanToNumber(points.row, OUTSIDE);
  using column = nanToNumber(points.column, OUTSIDE);
  const known = { image: points.image, row, column };
  return interpolation === 'nearest' ? nearest(images, known, fill) : bilinear(images, known, points, fill);
}

/** A row or column so far outside that it has no neighbour inside. */
export const OUTSIDE = -2;

function nearest(images: NativeTensor, { image, row, column }: Points, fill?: Fill): NativeTensor {
  using nearestRow = rounded(row);
  using nearestColumn = rounded(column);
  return pixels(images, { image, row: nearestRow, column: nearestColumn }, fill);
}

/**
 * Rounds as Math.round does: halves upwards, and values just below a half downwards. Caller
 * disposes.
 */
function rounded(x: NativeTensor): NativeTensor {
  using full = floor(x);
  using rest = subtract(x, full);
  using isUp = atLeast(rest, 0.5);
  return add(full, isUp);
}

/** Between pixels of `known`, with weights of `given`: those of infinite and missing positions are NaN. */
function bilinear(
  images: NativeTensor,
  { image, row, column }: Points,
  given: Points,
  fill?: Fill,
): NativeTensor {
  using top = floor(row);
  using bottom = addScalar(top, 1);
  using left = floor(column);
  using right = addScalar(left, 1);
  using across = weightOf(given.column, images);
  using down = weightOf(given.row, images);
  const between = (line: NativeTensor): NativeTensor => {
    using first = pixels(images, { image, row: line, column: left }, fill);
    using second = pixels(images, { image, row: line, column: right }, fill);
    return lerp(first, second, across);
  };
  using above = between(top);
  using below = between(bottom);
  return lerp(above, below, down);
}

/** The distance from the pixel before `position`, as a weight for pixels. Caller disposes. */
function weightOf(position: NativeTensor, images: NativeTensor): NativeTensor {
  using start = floor(position);
  using distance = subtract(position, start);
  using weight = castTo(distance, images.dtype);
  return unsqueeze(weight, -1);
}

/** Reads the pixels at integer rows and columns. */
function pixels(images: NativeTensor, { image, row, column }: Points, fill?: Fill): NativeTensor {
  const [batch, height, width, channels] = images.shape as [number, number, number, number];
  using insideRow = clamp(row, 0, height - 1);
  using insideColumn = clamp(column, 0, width - 1);
  using inImage = add(insideColumn, insideRow, width);
  using positions = add(inImage, image, height * width);
  using flatPositions = reshape(positions, [-1]);
  using index = castTo(flatPositions, 'int64');
  using flat = reshape(images, [batch * height * width, channels]);
  using found = indexSelect(flat, 0, index);
  const values = reshape(found, [...positions.shape, channels]);
  if (fill === undefined) return values;
  using held = values;
  using isRow = equal(insideRow, row);
  using isColumn = equal(insideColumn, column);
  using isInside = and(isRow, isColumn);
  using condition = unsqueeze(isInside, -1);
  return (typeof fill === 'number' ? chooseScalar : choose)(condition, held, fill);
}
