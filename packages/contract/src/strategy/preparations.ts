import type { Tensor } from '@tensorflow/tfjs-core';

/** An Accelerator, for something that it has prepared. */
export interface Preparation {
  /** Whether the Accelerator has ended. */
  readonly isOver: boolean;
  /**
   * The largest values over all ranks that train together, element by element. Those ranks call it in the
   * same order. The result is a new tensor or the argument, and has no gradient.
   *
   * @param name It is in messages about ranks that do not call.
   */
  largest?(x: Tensor, name: string): Tensor;
}

const preparations = new WeakMap<object, Preparation>();

/**
 * Notes that variables or layers are prepared, until their preparation is over. From then on they
 * cannot be marked another way (`parallelize`, `cut`), on a mesh without the axis `tensor`, too.
 */
export function notePrepared(prepared: readonly object[], preparation: Preparation): void {
  for (const each of prepared) preparations.set(each, preparation);
}

/** Undefined if the variable or layer was never prepared. */
export function preparationOf(prepared: object): Preparation | undefined {
  return preparations.get(prepared);
}

/** Whether an Accelerator has prepared the variable or layer, and runs. */
export function isPrepared(each: object): boolean {
  return preparationOf(each)?.isOver === false;
}
