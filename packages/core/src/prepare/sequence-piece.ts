import type { Mesh } from '@acc/contract';
import type { SequencePiece } from '@acc/data';

/** The part of each sequence that this rank gets of prepared data. Undefined: all of it. */
export function pieceOn(mesh: Mesh): SequencePiece | undefined {
  const size = mesh.size('context');
  return size === 1 ? undefined : { index: mesh.coordinates.context!, size };
}
