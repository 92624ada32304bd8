/** The result of a step on all ranks. */
export interface PlainStep {
  /** The mean over ranks that the hook returns, by variable. */
  readonly grads: number[][];
  /** The part of the hook's state that is the same on every rank, by name. */
  readonly shared: Readonly<Record<string, number[]>>;
  /**
   * Each rank's error, by variable, for gradients that are not divided by the number of ranks.
   * Empty if there is none.
   */
  readonly local: number[][][];
}

/** A communication hook of all ranks at once. `grads`: by rank and variable. */
export type PlainHook = (step: number, grads: readonly (readonly number[][])[]) => PlainStep;

export function meanOf(grads: readonly (readonly (readonly number[])[])[]): number[][] {
  return grads[0]!.map((first, variable) =>
    first.map((_, i) => grads.reduce((sum, ofRank) => sum + ofRank[variable]![i]!, 0) / grads.length),
  );
}
