/** Whether an Accelerator that has prepared something has ended. */
export interface Preparation {
  readonly isOver: boolean;
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
