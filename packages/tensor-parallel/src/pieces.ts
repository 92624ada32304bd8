import type { TensorInfo } from '@tensorflow/tfjs-core';
import {
  repetitionsOf,
  rowsAt,
  withoutOthersRows,
  type LocalPieces,
  type PieceLayout,
  type RowsAt,
} from '@acc/contract';
import { ShardedCall, type InputState } from '@acc/sharding-rules';
import type { Line } from './line.js';

type RowsLayout = PieceLayout & { readonly kind: 'rows' };

/** The place of the sequence in `[batch, sequence, …]`. */
export const SEQUENCE: RowsAt = { dim: 1, times: 1 };

/** The tensors of which this rank has a piece: how they are held, and how that changes. */
export class Pieces {
  /** Where the program is now: in a layer along the sequence, or in a recurrent cell. */
  #place: 'sequence' | 'cell' | undefined;

  constructor(
    readonly local: LocalPieces,
    readonly line: Line,
  ) {}

  /** Whether sums are to be cut along the sequence where a kernel needs their values. */
  get isAlongSequence(): boolean {
    return this.#place === 'sequence';
  }

  /** Runs what a layer computes on this rank's piece of the sequence. */
  alongSequence<T>(compute: () => T): T {
    return this.#within('sequence', compute);
  }

  /** Whether products by columns gather their first factor, which is a state of a recurrent cell. */
  get isInCell(): boolean {
    return this.#place === 'cell';
  }

  /** Runs one step of a recurrent cell. */
  inCell<T>(compute: () => T): T {
    return this.#within('cell', compute);
  }

  #within<T>(place: 'sequence' | 'cell', compute: () => T): T {
    const before = this.#place;
    this.#place = place;
    try {
      return compute();
    } finally {
      this.#place = before;
    }
  }

  /** Whether the ranks can share the sequence of `x` equally. */
  fitsSequence({ shape }: TensorInfo): boolean {
    return shape.length > 2 && shape[1]! % this.line.count === 0;
  }

  /** How the data of `x` is held. Undefined: whole. */
  kindOf(x: TensorInfo): PieceLayout['kind'] | undefined {
    return this.local.of(x)?.layout.kind;
  }

  isCut(x: TensorInfo): boolean {
    return this.kindOf(x) !== undefined;
  }

  /** How `x` is held. Undefined if a reshape has split its pieces. */
  stateOf(x: TensorInfo): InputState | undefined {
    const own = this.local.of(x);
    if (!own) return { kind: 'whole' };
    const { layout } = own;
    if (layout.kind === 'sum') return layout;
    const at = rowsAt(x.shape, layout);
    return at && { kind: 'rows', at };
  }

  /** A call as the rules see it. Undefined if a reshape has split the pieces of an input. */
  callOf(
    inputs: readonly (readonly [name: string, x: TensorInfo])[],
    attrs: Readonly<Record<string, unknown>>,
  ): ShardedCall | undefined {
    const known = new Map<string, { shape: readonly number[]; state: InputState }>();
    for (const [name, x] of inputs) {
      const state = this.stateOf(x);
      if (!state) return undefined;
      known.set(name, { shape: x.shape, state });
    }
    return new ShardedCall(known, attrs, this.line.count);
  }

  /** Whether `x` may be gathered where a kernel needs it whole. */
  gathers(x: TensorInfo): boolean {
    const layout = this.local.of(x)?.layout;
    return layout?.kind === 'rows' && layout.gathers === true;
  }

  isSum(x: TensorInfo): boolean {
    return this.kindOf(x) === 'sum';
  }

  layoutAt(shape: readonly number[], at: RowsAt, gathers = false): RowsLayout {
    const layout = { kind: 'rows', outer: repetitionsOf(shape, at), length: this.line.count } as const;
    return gathers ? { ...layout, gathers } : layout;
  }

  /** This rank's piece of `x`, in its shape. Borrowed. */
  pieceOf(x: TensorInfo): TensorInfo {
    const { layout, piece } = this.local.of(x)!;
    const shape =
      layout.kind === 'rows'
        ? withoutOthersRows(x.shape, rowsAt(x.shape, layout)!, this.line.count)
        : x.shape;
    return { dataId: piece.dataId, shape, dtype: piece.dtype };
  }

  /** Copies this rank's rows of a whole tensor. The caller owns the copy. */
  cut(x: TensorInfo, at: RowsAt): TensorInfo {
    const shape = withoutOthersRows(x.shape, at, this.line.count);
    return this.local.cut(x, { outer: repetitionsOf(x.shape, at), shape });
  }

  /** Makes the data of `x` whole, if it is in pieces: adds up a sum, or gathers the rows of all ranks. */
  makeWhole(x: TensorInfo): void {
    const own = this.local.of(x);
    if (!own) return;
    const whole = this.line.join({ layout: own.layout, piece: own.piece });
    this.local.fill(x, { ...whole, shape: x.shape });
  }

  /** Makes `x` whole if it is a sum, or rows that may be gathered. Other rows stay. */
  makePlain(x: TensorInfo): void {
    if (this.isSum(x) || this.gathers(x)) this.makeWhole(x);
  }

  /** Adds up the sum `x` where its values are needed: on every rank, or this rank's part of the sequence. */
  addUp(x: TensorInfo): void {
    if (this.isAlongSequence && this.fitsSequence(x)) this.makeRows(x, SEQUENCE, true);
    else this.makeWhole(x);
  }

  /** Leaves this rank's rows of the data of `x`, which is a sum or whole. */
  makeRows(x: TensorInfo, at: RowsAt, gathers: boolean): void {
    const layout = this.layoutAt(x.shape, at, gathers);
    const own = this.local.of(x);
    const shape = withoutOthersRows(x.shape, at, this.line.count);
    const piece =
      own?.layout.kind === 'sum'
        ? this.line.reduceScatter(own.piece, layout.outer, own.layout.scale)
        : this.cut(x, at);
    this.local.replace(x, layout, { ...piece, shape });
  }

  /** A new tensor of `piece`, which it takes over. */
  hold(piece: TensorInfo, state: Exclude<InputState, { kind: 'whole' }>, gathers: boolean): TensorInfo {
    const { shape: own, dtype } = piece;
    if (state.kind === 'sum') {
      return this.local.hold({ shape: own, dtype, layout: { kind: 'sum', scale: state.scale } }, piece);
    }
    const { at } = state;
    const shape = own.slice();
    shape[at.dim] = own[at.dim]! * this.line.count;
    return this.local.hold({ shape, dtype, layout: this.layoutAt(shape, at, gathers) }, piece);
  }
}
