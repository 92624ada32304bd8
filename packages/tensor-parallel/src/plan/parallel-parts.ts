import type { ParallelLayer, ParallelPart } from '@acc/contract';

/** The parts of a layer that states them. */
export function parallelPartsOf(layer: object): readonly ParallelPart[] | undefined {
  const { parallelParts } = layer as Partial<ParallelLayer>;
  return typeof parallelParts === 'function' ? parallelParts.call(layer) : undefined;
}
