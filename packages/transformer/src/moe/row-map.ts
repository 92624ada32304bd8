import { addN, customGrad, gather, mul, tensor1d, tensor2d, tidy, type Tensor } from '@tensorflow/tfjs-core';

/** A linear map that copies rows of one tensor to rows of another. */
export interface RowMap {
  /** Row i of the result is row `from[i]` of the argument. */
  readonly from: Int32Array;
  /**
   * The inverse: row j of the argument is copied to the rows `back[k][j]` of the result, and not
   * copied where that is -1.
   */
  readonly back: readonly Int32Array[];
}

/**
 * Copies rows of `x`: `[n, width]` to `[from.length, width]`. Its gradient adds up the rows of each
 * copy. Both directions only gather rows, so numbers do not depend on an order of additions.
 */
export function spreadRows(x: Tensor, map: RowMap): Tensor {
  const operator = customGrad((given) => ({
    value: gatherRows(given as Tensor, map.from),
    gradFunc: (dy: Tensor) => collectRows(dy, map),
  }));
  return operator(x);
}

/** The transposed map: row j of the result is the sum of the rows `back[k][j]` of `rows`. */
export function collectRows(rows: Tensor, map: RowMap): Tensor {
  const operator = customGrad((given) => ({
    value: tidy(() => {
      const copies = map.back.map((index) => gatherRows(given as Tensor, index));
      return copies.length === 1 ? copies[0]! : addN(copies);
    }),
    gradFunc: (dy: Tensor) => spreadRows(dy, map),
  }));
  return operator(rows);
}

/** The rows of an index. Those of -1 are zeros. */
function gatherRows(x: Tensor, index: Int32Array): Tensor {
  return tidy(() => {
    if (!index.includes(-1)) return gather(x, tensor1d(index, 'int32'));
    const places = index.map((place) => Math.max(place, 0));
    const isThere = Float32Array.from(index, (place) => (place < 0 ? 0 : 1));
    return mul(gather(x, tensor1d(places, 'int32')), tensor2d(isThere, [index.length, 1]));
  });
}
