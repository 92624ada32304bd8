import type { TensorInfo } from '@tensorflow/tfjs-core';
import {
  repetitionsOf,
  rowsAt,
  localRowsShape,
  type LocalShards,
  type ShardLayout,
  type RowsAt,
} from '@acc/contract';
import { ShardedCall, type InputState } from '@acc/sharding-rules';
import type { Line } from './line.js';

type RowsLayout = ShardLayout & { readonly kind: 'rows' };
type SumLayout = ShardLayout & { readonly kind: 'sum' };

/** How a tensor is held of which this rank has a shard. */
export interface Form {
  /** The shape of the whole tensor. */
  readonly shape: readonly number[];
  readonly layout: ShardLayout;
}

/** The place of the sequence in `[batch, sequence, …]`. */
export const SEQUENCE: RowsAt = { dim: 1, times: 1 };

/** The tensors of which this rank has a shard: how they are held, and how that changes. */
export class LocalTensors {
  /** Where the program is now: in a layer along the sequence, or in a recurrent cell. */
  #place: 'sequence' | 'cell' | undefined;
  /** Layouts of rows by their repetitions; first those that do not gather. */
  readonly #rows = [new Map<number, RowsLayout>(), new Map<number, RowsLayout>()] as const;
  readonly #sums = new Map<number, SumLayout>();

  constructor(
    readonly local: LocalShards,
    readonly line: Line,
  ) {}

  /** Whether sums are to be cut along the sequence where a kernel needs their values. */
  get isAlongSequence(): boolean {
    return this.#place === 'sequence';
  }

  /** Runs what a layer computes on this rank's shard of the sequence. */
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
  layoutOf(x: TensorInfo): ShardLayout | undefined {
    return this.local.layoutOf(x);
  }

  kindOf(x: TensorInfo): ShardLayout['kind'] | undefined {
    return this.layoutOf(x)?.kind;
  }

  isCut(x: TensorInfo): boolean {
    return this.layoutOf(x) !== undefined;
  }

  /** How `x` is held. Undefined if a reshape has split its shards. */
  stateOf(x: TensorInfo): InputState | undefined {
    const layout = this.layoutOf(x);
    if (!layout) return { kind: 'whole' };
    if (layout.kind === 'sum') return layout;
    const at = rowsAt(x.shape, layout);
    return at && { kind: 'rows', at };
  }

  /** A call as the rules see it. Undefined if a reshape has split the shards of an input. */
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
    const layout = this.layoutOf(x);
    return layout?.kind === 'rows' && layout.gathers === true;
  }

  isSum(x: TensorInfo): boolean {
    return this.kindOf(x) === 'sum';
  }

  /** Equal layouts are one object, so that a comparison of them is cheap. */
  layoutAt(shape: readonly number[], at: RowsAt, gathers = false): RowsLayout {
    const outer = repetitionsOf(shape, at);
    return madeOnce(this.#rows[gathers ? 1 : 0], outer, () => ({
      ...{ kind: 'rows', outer, length: this.line.count },
      ...(gathers && { gathers }),
    }));
  }

  /** The form of a tensor whose shard has the shape `own`. */
  formOf(own: readonly number[], state: Exclude<InputState, { kind: 'whole' }>, gathers: boolean): Form {
    if (state.kind === 'sum') {
      const { scale } = state;
      return { shape: own, layout: madeOnce(this.#sums, scale, () => ({ kind: 'sum', scale })) };
    }
    const shape = own.slice();
    shape[state.at.dim] = own[state.at.dim]! * this.line.count;
    return { shape, layout: this.layoutAt(shape, state.at, gathers) };
  }

  /** This rank's shard of `x`, in its shape. Borrowed. */
  localShardOf(x: TensorInfo): TensorInfo {
    const { layout, shard } = this.local.of(x)!;
    const shape =
      layout.kind === 'rows' ? localRowsShape(x.shape, rowsAt(x.shape, layout)!, this.line.count) : x.shape;
    return { dataId: shard.dataId, shape, dtype: shard.dtype };
  }

  /** Like {@link localShardOf}, where the shape of the shard is known. It has a rank, as a tensor has. */
  shardIn(x: TensorInfo, shape: number[]): TensorInfo & { readonly rank: number } {
    const { dataId, dtype } = this.local.of(x)!.shard;
    return { dataId, shape, dtype, rank: shape.length };
  }

  /** Copies this rank's rows of a whole tensor. The caller owns the copy. */
  cut(x: TensorInfo, at: RowsAt): TensorInfo {
    const shape = localRowsShape(x.shape, at, this.line.count);
    return this.local.cut(x, { outer: repetitionsOf(x.shape, at), shape });
  }

  /** Makes the data of `x` whole, if it is in shards: adds up a sum, or gathers the rows of all ranks. */
  gatherFull(x: TensorInfo): void {
    const own = this.local.of(x);
    if (!own) return;
    const full = this.line.join({ layout: own.layout, shard: own.shard });
    this.local.fill(x, { ...full, shape: x.shape });
  }

  /** Makes `x` whole if it is a sum, or rows that may be gathered. Other rows stay. */
  makePlain(x: TensorInfo): void {
    if (this.isSum(x) || this.gathers(x)) this.gatherFull(x);
  }

  /** Adds up the sum `x` where its values are needed: on every rank, or this rank's part of the sequence. */
  addUp(x: TensorInfo): void {
    if (this.isAlongSequence && this.fitsSequence(x)) this.makeRows(x, SEQUENCE, true);
    else this.gatherFull(x);
  }

  /** Leaves this rank's rows of the data of `x`, which is a sum or whole. */
  makeRows(x: TensorInfo, at: RowsAt, gathers: boolean): void {
    const layout = this.layoutAt(x.shape, at, gathers);
    const own = this.local.of(x);
    const shape = localRowsShape(x.shape, at, this.line.count);
    const shard =
      own?.layout.kind === 'sum'
        ? this.line.reduceScatter(own.shard, layout.outer, own.layout.scale)
        : this.cut(x, at);
    this.local.replace(x, layout, { ...shard, shape });
  }

  /** A new tensor of `shard`, which it takes over. */
  hold(shard: TensorInfo, state: Exclude<InputState, { kind: 'whole' }>, gathers: boolean): TensorInfo {
    return this.holdAs(shard, this.formOf(shard.shape, state, gathers));
  }

  /** Like {@link hold}, where the form of the tensor is known. */
  holdAs(shard: TensorInfo, { shape, layout }: Form): TensorInfo {
    return this.local.hold({ shape: shape.slice(), dtype: shard.dtype, layout }, shard);
  }
}

/** Returns the value of a key. If there is none it is made. */
function madeOnce<T>(known: Map<number, T>, key: number, make: () => T): T {
  const found = known.get(key);
  if (found) return found;
  const created = make();
  known.set(key, created);
  return created;
}
