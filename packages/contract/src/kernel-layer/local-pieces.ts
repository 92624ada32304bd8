import type { Tensor, TensorInfo } from '@tensorflow/tfjs-core';
import type { PiecedInfo, PieceLayout } from './pieces.js';

/** The piece of a tensor that this rank has. The other pieces are on other ranks. */
export interface LocalPiece {
  readonly layout: PieceLayout;
  /** Borrowed: it lives as long as the tensor. */
  readonly piece: TensorInfo;
}

/** The pieces that this rank has, and the exchange that gets the others. */
export interface LocalPiecesOptions {
  /** The number of pieces of every tensor in pieces. */
  readonly count: number;
  /** The place of this rank's piece among them. */
  readonly index: number;
  /**
   * Makes the whole tensor when it is read. All ranks of the pieces do so. The caller owns the
   * result.
   */
  join(piece: LocalPiece, shape: readonly number[]): Tensor;
}

/** The owner of the piece of a tensor. */
export interface PieceOwner {
  /** The piece now. Throws if it was freed. */
  piece(): TensorInfo;
  isFreed(): boolean;
}

/**
 * Holds tensors of which this rank has one piece. They have the shape of the whole tensor. Layouts
 * of rows have as many rows as there are pieces: each piece is one of `count` equal parts of every
 * repetition.
 */
export interface LocalPieces {
  /** Creates a tensor in pieces. It takes over this rank's `piece`. */
  hold(info: PiecedInfo, piece: TensorInfo): TensorInfo;
  /** Creates a tensor in pieces whose piece belongs to somebody else, who may exchange it. */
  follow(info: PiecedInfo, owner: PieceOwner): TensorInfo;
  /** The piece of `x`. Undefined if this rank has the whole tensor. */
  of(x: TensorInfo): LocalPiece | undefined;
  /** The layout of the pieces of `x`, without looking for the piece. Undefined as in {@link of}. */
  layoutOf(x: TensorInfo): PieceLayout | undefined;
  /**
   * Whether this rank's piece of a whole tensor can be copied. False for tensors without values, and
   * for results whose gradient reads more than their values.
   */
  canCut(x: TensorInfo): boolean;
  /** Copies this rank's piece, of shape `shape`, of a whole tensor. The caller owns it. */
  cut(x: TensorInfo, cut: { readonly outer: number; readonly shape: number[] }): TensorInfo;
  /** Makes `x`, which has a piece, a whole tensor. Takes over `whole`, which may have another shape. */
  fill(x: TensorInfo, whole: TensorInfo): void;
  /** Makes `x` a tensor in pieces, or gives it another piece. Takes over `piece`. */
  replace(x: TensorInfo, layout: PieceLayout, piece: TensorInfo): void;
  /** The number of tensors that share the data of `x`. */
  holders(x: TensorInfo): number;
  /** Frees the whole values that a read of `x`, which has a piece, has gathered. */
  release(x: TensorInfo): void;
}
