import { operator, operatorInPlace, type Tensor } from '@acc/native';
import { add, cast, indexSelect, mulScalar } from '../formats/operators.js';

const diagonal = operator('aten::diagonal');
const clone = operator('aten::clone');
const mean = operator('aten::mean');
const isZero = operator('aten::eq.Scalar');
const argsort = operator('aten::argsort');
const cholesky = operator('aten::linalg_cholesky');
const choleskyInverse = operator('aten::cholesky_inverse');
const addTo = operatorInPlace('aten::add_.Tensor');

export interface FactorOptions {
  /** The share of the mean diagonal that is added to the diagonal. */
  readonly damping: number;
  /** Whether columns with the largest diagonal come first. */
  readonly actOrder: boolean;
}

export interface Factor extends Disposable {
  /** The upper factor U of the inverse Hessian UᵀU, float64 `[columns, columns]`. */
  readonly upper: Tensor;
  /** The columns in the order of the factor, int64. Undefined: as they are. */
  readonly order: Tensor | undefined;
}

/**
 * The factor with which errors are moved to later columns. Inputs that were always 0 get a diagonal of 1, so their
 * weights are rounded to the nearest value.
 *
 * @param hessian Float64. Borrowed.
 */
export function factorOf(hessian: Tensor, { damping, actOrder }: FactorOptions): Factor {
  using onDiagonal = diagonal(hessian);
  using unused = isZero(onDiagonal, 0);
  using ones = cast(unused, 'float64');
  using filled = add(onDiagonal, ones);
  using average = mean(filled);
  using damped = mulScalar(average, damping);
  using added = add(ones, damped);
  using positive = clone(hessian);
  using itsDiagonal = diagonal(positive);
  addTo(itsDiagonal, added);
  const order = actOrder ? argsort(filled, -1, true) : undefined;
  try {
    using ordered = order ? reordered(positive, order) : positive.alias();
    using lower = cholesky(ordered);
    using inverse = choleskyInverse(lower);
    const upper = cholesky(inverse, true);
    return {
      upper,
      order,
      [Symbol.dispose]() {
        upper.dispose();
        order?.dispose();
      },
    };
  } catch (error) {
    order?.dispose();
    throw error;
  }
}

function reordered(matrix: Tensor, order: Tensor): Tensor {
  using rows = indexSelect(matrix, 0, order);
  return indexSelect(rows, 1, order);
}
