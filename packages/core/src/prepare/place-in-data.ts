import type { Collective, Mesh } from '@acc/contract';
import type { SequenceShard } from '@acc/data';

/** The share of data that this rank gets. */
export interface PlaceInData {
  /** The ranks that receive different rows. */
  readonly dataRanks: Collective;
  /** The part of each sequence that this rank gets. Undefined: all of it. */
  readonly sequence: SequenceShard | undefined;
}

export function placeInData(mesh: Mesh): PlaceInData {
  const size = mesh.size('context');
  const sequence = size === 1 ? undefined : { index: mesh.coordinates.context!, size };
  return { dataRanks: mesh.dataRanks, sequence };
}
