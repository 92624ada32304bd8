import type { Tensor, Variable } from '@tensorflow/tfjs-core';
import type { PackedRecords } from '@acc/kernels';
import type { Placement } from './placement.js';

/**
 * A variable whose elements the ranks along one axis of the mesh share. Another axis may distribute
 * `local` further: it is `full` there. So a variable of a program has one of these for each axis that
 * distributes it, and the last `local` is what optimizers update.
 */
export interface DistributedVariable {
  /** Has the shape of all elements. It reads as all of them. */
  readonly full: Variable;
  /** This rank's elements. tfjs does not list it. */
  readonly local: Variable;
  readonly placement: Placement;
  /**
   * The records of a packed variable: {@link placement} then is that of their words, of which `local` has
   * some. Absent: values are stored in the dtype of the variable.
   */
  readonly storage?: PackedRecords;
  /** Of a packed variable. @throws AccError `ACC_QUANTIZED_PLACE` if it is not packed any more. */
  requirePacked?(): void;
  /**
   * This rank's elements of a tensor in the shape of `full`, in the shape of `local`. The result may be
   * `full` itself. Otherwise the caller disposes it.
   */
  localOf(full: Tensor): Tensor;
}
