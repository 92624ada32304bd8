import type { StateLayer } from '@acc/contract';
import type { RunInfo } from '../format/manifest.js';
import { encodeTree, type EncodedTree } from '../format/state-tree.js';
import { piecesOfTensor, piecesOfTree, type Piece } from '../write/pieces.js';
import type { SaveRequest } from '../write/save.js';
import { holdPieces, releasePieces, type HeldPiece } from '../write/write-rank.js';

/** The state of a run on one rank at one moment. It shares memory with the run. */
export class HeldRun {
  readonly info: RunInfo;
  readonly shared: EncodedTree['json'];
  readonly local: EncodedTree['json'];
  /** The state of this rank alone. */
  readonly own: readonly HeldPiece[];
  /** State that other ranks hold, too, or of which they hold other shards. */
  readonly common: readonly HeldPiece[];

  /**
   * Holds the state without a copy. What the run writes in place while it is held is copied first.
   *
   * @throws AccError `ACC_STATE_INVALID` for a state that a checkpoint cannot have.
   */
  constructor({ info, shared, local, tensors }: SaveRequest, rank: number, layer: StateLayer) {
    const trees = { shared: encodeTree(shared, 'shared'), local: encodeTree(local, `rank-${rank}`) };
    this.info = info;
    this.shared = trees.shared.json;
    this.local = trees.local.json;
    this.own = holdPieces(piecesOfTree(trees.local, layer));
    this.common = holdPieces([
      ...piecesOfTree(trees.shared, layer),
      ...tensors.flatMap((named) => piecesOfTensor(named, layer)),
    ]);
  }

  release(): void {
    releasePieces(this.own);
    releasePieces(this.common);
  }
}

export function byteLengthOf(held: readonly HeldPiece[]): number {
  return held.reduce((sum, { piece }) => sum + piece.byteLength, 0);
}

export type { HeldPiece, Piece };
