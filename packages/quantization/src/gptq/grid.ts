import type { Granularity } from '@acc/kernels';
import { operator, type Tensor } from '@acc/native';
import { groupsBetween, MIDDLE, STEPS } from '../formats/int4-groups.js';
import { int8ScalesOf, LARGEST } from '../formats/int8.js';
import {
  addcmul,
  amax,
  amin,
  cast,
  clampScalar,
  div,
  mul,
  reshape,
  round,
  sub,
  transpose,
} from '../formats/operators.js';

const contiguous = operator('aten::contiguous');
const addScaled = operator('aten::add.Tensor');

/** The format in which values are rounded. */
export interface GridFormat {
  readonly weights: 'int8' | 'int4';
  readonly granularity: Granularity;
}

/** The values that one column of a group can have: `lowest + q · scale`. Float64 `[rows or 1]`. */
export interface Grid extends Disposable {
  readonly scale: Tensor;
  readonly lowest: Tensor | undefined;
  /** Float32 `[rows or 1, 1, 1]`, as they are stored. Zeros belong to int4. */
  readonly scales: Tensor;
  readonly zeros: Tensor | undefined;
  readonly limits: readonly [number, number];
}

/** The grid of a group. @param columns Float64 `[columns of the group, rows]`. Borrowed. */
export function gridOf(columns: Tensor, { weights, granularity }: GridFormat): Grid {
  using turned = transpose(columns);
  using dense = contiguous(turned);
  using narrow = cast(dense, 'float32');
  using grouped = reshape(narrow, [narrow.shape[0]!, 1, narrow.shape[1]!]);
  if (weights === 'int8') {
    const scales = int8ScalesOf(grouped, granularity === 'tensor' ? [0, 1, 2] : [2]);
    return owned({
      scale: flat(scales),
      lowest: undefined,
      scales,
      zeros: undefined,
      limits: [-LARGEST, LARGEST],
    });
  }
  using least = amin(grouped, [2], true);
  using largest = amax(grouped, [2], true);
  const { scales, zeros } = groupsBetween(least, largest);
  const scale = flat(scales);
  using middle = flat(zeros);
  return owned({ scale, lowest: addScaled(middle, scale, -MIDDLE), scales, zeros, limits: [0, STEPS] });
}

function owned(grid: Omit<Grid, typeof Symbol.dispose>): Grid {
  return {
    ...grid,
    [Symbol.dispose]() {
      for (const tensor of [grid.scale, grid.lowest, grid.scales, grid.zeros]) tensor?.dispose();
    },
  };
}

function flat(scales: Tensor): Tensor {
  using wide = cast(scales, 'float64');
  return reshape(wide, [-1]);
}

/** Values float64 `[rows]` in a grid: their numbers, and the values that those have. The caller disposes both. */
export function inGrid(
  values: Tensor,
  { scale, lowest, limits }: Grid,
): { numbers: Tensor; rounded: Tensor } {
  using above = lowest ? sub(values, lowest) : values.alias();
  using scaled = div(above, scale);
  using whole = round(scaled);
  const numbers = clampScalar(whole, ...limits);
  return { numbers, rounded: lowest ? addcmul(lowest, numbers, scale) : mul(numbers, scale) };
}
