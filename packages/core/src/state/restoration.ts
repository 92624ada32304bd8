import { variable as makeVariable, type DataType, type Tensor, type Variable } from '@tensorflow/tfjs-core';
import type { Want } from '@acc/checkpoint';

/**
 * Tensors to read from a checkpoint, and the function that applies them after all have been read.
 */
export interface Restoration {
  readonly wants: readonly Want[];
  /** The dtypes that the tensors must have. Absent: they are not checked. */
  readonly dtypes?: readonly DataType[];
  /** Applies the tensors, one for each want, and takes them over. */
  apply(tensors: readonly Tensor[]): void | Promise<void>;
}

/** A new variable with the memory of the tensor, which is disposed. */
export function takeOver(tensor: Tensor): Variable {
  const created = makeVariable(tensor, false);
  tensor.dispose();
  return created;
}

/** Assigns the tensor's memory to a variable and disposes the tensor. */
export function assignAndDispose(variable: Variable, tensor: Tensor): void {
  variable.assign(tensor);
  tensor.dispose();
}
