import type { RowsAt } from '@acc/contract';

/**
 * How a tensor lies on the ranks along one axis of the mesh, in the words of PyTorch's DTensor. An axis
 * for which a tensor has no placement replicates it: every rank has all elements.
 */
export type Placement =
  /**
   * Each rank has one of equal ranges of indices along `dim`, in each of the `times` matrices that lie
   * side by side there.
   */
  | ({ readonly kind: 'shard' } & RowsAt)
  /** Each rank has some consecutive elements of the row-major tensor, as a vector: `begin` to `end`. */
  | { readonly kind: 'flat'; readonly begin: number; readonly end: number }
  /** One rank has all elements. The others have none. */
  | { readonly kind: 'owner'; readonly rank: number };
