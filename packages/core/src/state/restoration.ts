import { variable as makeVariable, type DataType, type Tensor, type Variable } from '@tensorflow/tfjs-core';
import type { Want } from '@acc/checkpoint';

/** Tensors that are wanted of a checkpoint, and what is done with them when all are there. */
export interface Restoration {
  readonly wants: readonly Want[];
  /** What they have to be; absent where that shows by itself. */
  readonly dtypes?: readonly DataType[];
  /** Takes the tensors over, one for each want. */
  apply(tensors: readonly Tensor[]): void | Promise<void>;
}

/** A variable with the tensor's memory, and nobody else. */
export function takeOver(tensor: Tensor): Variable {
  const made = makeVariable(tensor, false);
  tensor.dispose();
  return made;
}

/** Gives a variable the tensor's memory. */
export function assignTaken(variable: Variable, tensor: Tensor): void {
  variable.assign(tensor);
  tensor.dispose();
}
