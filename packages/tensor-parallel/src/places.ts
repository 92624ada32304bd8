import type { Variable } from '@tensorflow/tfjs-core';
import { repetitionsOf, rowsAt, type Cut, type RowsAt } from '@acc/contract';
import { shardsUnits, doesNotDivide } from './errors.js';
import { markOf } from './marks.js';

/**
 * Where a variable is cut. Undefined: nowhere.
 *
 * @throws AccError `ACC_TENSOR_PARALLEL_UNEVEN`.
 */
export function placeIn(variable: Variable, ranks: number): RowsAt | undefined {
  const mark = markOf(variable);
  if (!mark || ranks === 1) return undefined;
  const uneven = mark.units?.find(({ count }) => count % ranks !== 0);
  if (uneven && mark.isOptional) return undefined;
  if (uneven) throw shardsUnits(variable, uneven, ranks);
  const at = placeOf(variable.shape, mark, ranks);
  if (!at && mark.isOptional) return undefined;
  if (!at) throw doesNotDivide(variable, mark, ranks);
  return at;
}

/** The position of rows of a variable that holds `times` matrices side by side along `dim`. */
function placeOf(
  shape: readonly number[],
  { dim, times = 1 }: Pick<Cut, 'dim' | 'times'>,
  count: number,
): RowsAt | undefined {
  const outer = repetitionsOf(shape, { dim, times });
  return shape[dim]! % (times * count) === 0 ? rowsAt(shape, { outer, length: count }) : undefined;
}
