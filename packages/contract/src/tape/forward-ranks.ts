import type { Variable } from '@tensorflow/tfjs-core';
import type { Collective } from '../collective/collective.js';

/** The ranks whose forward passes of a model communicate. */
export interface ForwardRanks {
  /** The ranks that compute the same rows together. They give the model the same inputs. */
  readonly sameRows: Collective;
  /**
   * All of them. Ranks with other rows have parts of the weights, so all run the same number of
   * forward passes.
   */
  readonly all: Collective;
  /** Releases the weights that passes have gathered. Inside a gradient, its end does it. */
  release(): void;
}

/** Undefined for a variable of which this rank has all elements. */
type FindRanks = (variable: Variable) => ForwardRanks | undefined;

const known = new Set<FindRanks>();

/** Makes {@link forwardRanksOf} ask `find`. Returns a function that ends it. */
export function knowForwardRanks(find: FindRanks): () => void {
  known.add(find);
  return () => known.delete(find);
}

/**
 * The ranks that a forward pass of a model communicates with. A program whose inputs or number of
 * passes could differ between them compares these first.
 *
 * @param variables The weights of the model.
 * @returns Undefined if this rank has all weights, and computes for itself.
 */
export function forwardRanksOf(variables: readonly Variable[]): ForwardRanks | undefined {
  for (const find of known) {
    for (const variable of variables) {
      const found = find(variable);
      if (found) return found;
    }
  }
  return undefined;
}
