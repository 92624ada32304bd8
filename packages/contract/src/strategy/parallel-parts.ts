/**
 * How the weights of a layer can be cut over the ranks of the mesh's axis `tensor`. `column`: each
 * rank computes a part of the outputs. `row`: each rank takes a part of the inputs, and results are
 * added up. `vocab`: each rank has the rows of some tokens.
 */
export type WeightCut = 'column' | 'row' | 'vocab';

/** A layer within a layer, and how it is cut if the outer one is computed in parallel. */
export interface ParallelPart {
  readonly layer: object;
  readonly cut: WeightCut;
  /** The number of equal matrices side by side in one. Default 1. */
  readonly times?: number;
  /** Units that must not be cut in two, for example heads. */
  readonly units?: readonly { readonly name: string; readonly count: number }[];
}

/** A layer that states how its parts are computed in parallel. `parallelize` asks for it. */
export interface ParallelLayer {
  /** @throws AccError for settings with which the parts cannot be cut. */
  parallelParts(): readonly ParallelPart[];
}
