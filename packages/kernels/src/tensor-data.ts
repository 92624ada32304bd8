import type { BackendValues, DataType, TensorInfo } from '@tensorflow/tfjs-core';
import type { NativeDtype, ShardedInfo, ShardLayout } from '@acc/contract';
import { operator, type Tensor as NativeTensor } from '@acc/native';
import type { PendingValue } from './pending/pending-value.js';
import type { PackedValues } from './packed/packed-values.js';
import type { LazyValues } from './pending/lazy-values.js';
import { currentTape } from './tape.js';
import { toDtype } from './families/conversion.js';

const reshape = operator('aten::reshape');

/**
 * The maximum of cached shapes for one data. It exceeds the number of a kernel's inputs, so that no
 * shape is disposed while its kernel runs.
 */
const MAX_SHAPES = 8;

let shapesEpoch = 0;

/**
 * From now on, cached reshapes and conversions of data are made anew. A recorded step must record
 * the calls that make them, and later code must not use their recorded results. Must not be called
 * while a kernel runs.
 */
export function forgetShapes(): void {
  shapesEpoch++;
}

let constantsEpoch = 0;
let constantsEpochs = 0;

/**
 * From now on, scalars that exist are no constants: code that runs again may get others.
 *
 * @returns For {@link rememberConstants}, what is a constant from now on.
 */
export function forgetConstants(): number {
  return (constantsEpoch = ++constantsEpochs);
}

/** Scalars that became constants after {@link forgetConstants} gave `epoch` are the constants again. */
export function rememberConstants(epoch: number): void {
  constantsEpoch = epoch;
}

/** The native side of a {@link TensorData}, without a reference to it. */
export interface NativeHandles {
  readonly native: NativeTensor | undefined;
  /** The value for which the data waits, in place of {@link native}. */
  readonly pending: PendingValue | undefined;
  /** {@link native} in other shapes and dtypes, and the tensors attached to the data. */
  readonly others: readonly (readonly NativeTensor[])[];
}

/** The shards in which data is stored. */
export interface DataShards {
  readonly layout: ShardLayout;
  readonly count: number;
  /**
   * Absent if the data itself is the only shard, or if the data was not cut yet. The data owns the
   * shards. Of data with an `index`, the only shard is the one of that place.
   */
  readonly shards?: readonly TensorInfo[] | undefined;
  /** The place of the only shard that this process has. */
  readonly index?: number;
  /** Whether the data does not own its shards. */
  readonly isBorrowed?: boolean;
  /** Whether the owner has freed the shard of data that has an `index`. */
  readonly isFreed?: boolean;
  /** Makes a tensor of which this process has one shard, which it takes over. Of data with an `index`. */
  readonly hold?: (info: ShardedInfo, shard: TensorInfo) => TensorInfo;
}

/** A tfjs tensor whose gradient reads no values of it. */
export interface ValuelessResult {
  readonly tensorId: number;
  /**
   * The scope in which an operator with a gradient function of its own created the tensor; 0 for
   * the result of the operator itself.
   */
  readonly scopeId: number;
}

/**
 * The `dataId` of tfjs for this backend. The object itself holds the data, so no table is searched.
 * tfjs counts the references to it.
 */
export class TensorData {
  refCount = 1;
  /** Whether garbage collection watches this object; see garbage.ts. */
  watched = false;
  /** The index in the nursery of unwatched data; -1 outside the nursery. */
  nurseryPlace = -1;
  isDisposed = false;
  /**
   * The element of a scalar that was created from a JavaScript number. Later writes in place do not
   * change it.
   */
  uploaded: number | undefined;
  /** The epoch of constants in which {@link uploaded} became one. */
  #constantIn: number | undefined;
  /** The tape on which {@link uploaded} became a constant. */
  #tape: number | undefined;
  /** For gradients/saved-shapes.ts. */
  valuelessResult: ValuelessResult | undefined;
  /** Whether it is a stand-in, which has only a shape and a dtype. */
  isStandIn = false;
  /** The element type of deferred values, if it is known. */
  deferredDtype: NativeDtype | undefined;
  /** Of deferred data, gives the values for one read. See `DeferredInfo`. */
  reader: (() => BackendValues | undefined) | undefined;
  /** The shards of the data, if it is stored in shards. */
  inShards: DataShards | undefined;
  /** Values that lie in memory in place of float32 ones; see packed/. */
  packed: PackedValues | undefined;
  /** Called once, when the data is disposed. */
  onDisposed: (() => void) | undefined;
  /** Of data that nobody has read yet, how it is made. */
  lazy: LazyValues | undefined;

  /** The native tensor, if it exists already. */
  #native: NativeTensor | undefined;
  /** The value that is computed when {@link native} is first needed. */
  #pending: PendingValue | undefined;
  #onComputed: ((data: TensorData) => void) | undefined;
  /** {@link native} in other shapes, oldest first. */
  #reshaped: NativeTensor[] | undefined;
  #epoch = 0;
  #attached: NativeTensor[] | undefined;
  #converted: NativeTensor[] | undefined;

  constructor(
    readonly dtype: DataType,
    native: NativeTensor | undefined,
    readonly strings: BackendValues | undefined,
    /**
     * The number of elements in the memory that `native` keeps alive, if it is a view of a part.
     */
    readonly keptElements: number | undefined,
    /** Makes {@link native} when it is needed and not there. */
    private join?: () => NativeTensor,
  ) {
    this.#native = native;
  }

  /** Data that has only a shape and a dtype. */
  static standIn(): TensorData {
    const data = new TensorData('float32', undefined, undefined, undefined);
    data.isStandIn = true;
    return data;
  }

  /** Undefined for strings, which are in {@link strings}, and for stand-ins. */
  get native(): NativeTensor | undefined {
    if (this.#pending) this.#endPending(this.#pending);
    return this.#native ?? (this.join && (this.#native = this.join()));
  }

  /** Whether the data has not taken its value yet. */
  get isWaiting(): boolean {
    return this.#pending !== undefined;
  }

  /** The value of the data, if it is not computed yet. Borrowed. */
  get pending(): PendingValue | undefined {
    // Another value may have needed it.
    if (this.#pending?.isComputed) this.#endPending(this.#pending);
    return this.#pending;
  }

  /**
   * The data has this value, of which it takes over one use.
   *
   * @param onComputed Called when the data has its native tensor.
   */
  wait(value: PendingValue, onComputed: (data: TensorData) => void): void {
    this.#pending = value;
    this.#onComputed = onComputed;
  }

  #endPending(value: PendingValue): void {
    this.#native = value.takeForData();
    this.#pending = undefined;
    this.#onComputed!(this);
  }

  /** Whether the values are not simply in {@link native}: in shards, deferred, or nowhere. */
  get isElsewhere(): boolean {
    return this.isDisposed || this.isStandIn || this.inShards !== undefined || this.join !== undefined;
  }

  /** Whether the values come when they are needed, and can be freed again. See `Defer`. */
  get isDeferred(): boolean {
    return this.join !== undefined && this.inShards === undefined && this.lazy === undefined;
  }

  /** Whether {@link readOnce} may give values. */
  get readsOnce(): boolean {
    return this.reader !== undefined && !this.#native && !this.#pending;
  }

  /** The values, if they come for this read alone. */
  readOnce(): BackendValues | undefined {
    return this.readsOnce ? this.reader!() : undefined;
  }

  /** Takes note that the only element is `value`, which a JavaScript number gave. */
  setUploaded(value: number): void {
    this.uploaded = value;
    this.#constantIn = constantsEpoch;
    this.#tape = currentTape();
  }

  /** See `constantOf` in host-constants.ts. */
  get constant(): number | undefined {
    return this.#constantIn === constantsEpoch && !this.isDisposed ? this.uploaded : undefined;
  }

  /** See `isConstantOnTape` in host-constants.ts. */
  get isConstantOnTape(): boolean {
    return this.#tape !== undefined && this.constant !== undefined && this.#tape === currentTape();
  }

  /** Whether a variable holds the data, or has held it. */
  isOfVariable = false;

  becomesVariable(): void {
    this.isOfVariable = true;
    this.changes();
  }

  /** From now on the data may change, and is no {@link constant}. */
  changes(): void {
    this.#constantIn = undefined;
  }

  /** The shape of what the data holds: its native tensor, or the value that it waits for. */
  get heldShape(): readonly number[] | undefined {
    return (this.#native ?? this.#pending)?.shape;
  }

  get heldBytes(): number {
    return (this.#native ?? this.#pending)?.byteLength ?? 0;
  }

  /** {@link native} if it exists already; does not make it. */
  get held(): NativeTensor | undefined {
    return this.#native;
  }

  /**
   * The native tensor in the shape `shape`: tfjs tensors of different shapes share one data id,
   * because a reshape copies nothing. Borrowed: it lives as long as this data, or until {@link
   * MAX_SHAPES} other shapes were requested.
   */
  nativeAs(native: NativeTensor, shape: readonly number[]): NativeTensor {
    if (sameShape(native.shape, shape)) return native;
    this.#dropOldShapes();
    const known = this.#reshaped?.find((tensor) => sameShape(tensor.shape, shape));
    if (known) return known;
    const created = reshape(native, shape);
    this.#reshaped ??= [];
    if (this.#reshaped.length >= MAX_SHAPES) this.#reshaped.shift()!.dispose();
    this.#reshaped.push(created);
    return created;
  }

  /**
   * {@link native} for writing in place, if its shape is `shape`. Disposes its other shapes and
   * dtypes: they may be copies, which would become outdated, or views, which would count as sharing
   * the memory.
   */
  nativeToWrite(shape: readonly number[]): NativeTensor | undefined {
    // Data in shards is not written: its shards would keep the old values. Deferred data shares
    // memory with other data.
    if (this.inShards || this.join) return undefined;
    const { native } = this;
    if (!native || !sameShape(native.shape, shape)) return undefined;
    this.#dropShapes();
    this.changes();
    return native;
  }

  /** Takes ownership of new values, and frees earlier ones and what was made of them. */
  fill(native: NativeTensor): void {
    this.release();
    this.#native = native;
  }

  /** Takes other values, or a function that makes them when they are needed. Frees the earlier ones. */
  replace(native: NativeTensor | undefined, join: (() => NativeTensor) | undefined): void {
    this.release();
    this.lazy?.release();
    this.#native = native;
    this.join = join;
  }

  /** Frees the values of data that can make them again. */
  release(): void {
    this.#dropShapes();
    this.#native?.dispose();
    this.#native = undefined;
    this.#dropPending();
  }

  #dropPending(): void {
    this.#pending?.releaseData();
    this.#pending = undefined;
  }

  #dropOldShapes(): void {
    if (this.#epoch === shapesEpoch) return;
    this.#epoch = shapesEpoch;
    this.#dropShapes();
  }

  #dropShapes(): void {
    // The list object itself stays, because garbage collection may refer to it.
    for (const list of [this.#reshaped, this.#converted]) {
      if (list) for (const tensor of list.splice(0)) tensor.dispose();
    }
  }

  /**
   * The values as `dtype`. The conversion is cached until the values are written in place.
   * Borrowed.
   */
  convertedTo(native: NativeTensor, dtype: NativeDtype): NativeTensor {
    this.#dropOldShapes();
    const known = this.#converted?.find(
      (tensor) => tensor.dtype === dtype && sameShape(tensor.shape, native.shape),
    );
    if (known) return known;
    const created = toDtype(native, dtype);
    (this.#converted ??= []).push(created);
    return created;
  }

  /** Native tensors that live as long as this data; see `AccBackend.attach`. */
  get attached(): readonly NativeTensor[] | undefined {
    return this.#attached;
  }

  /** Attaches `tensors` and takes ownership of them. */
  attach(tensors: readonly NativeTensor[]): void {
    if (this.#attached) this.#attached.push(...tensors);
    else this.#attached = [...tensors];
  }

  /** All present and future handles: those to dispose after the collector has taken this object. */
  handles(): NativeHandles {
    this.#reshaped ??= [];
    this.#attached ??= [];
    this.#converted ??= [];
    const others = [this.#reshaped, this.#attached, this.#converted];
    return { native: this.#native, pending: this.#pending, others };
  }

  /** Frees the native memory. */
  dispose(): void {
    this.isDisposed = true;
    this.onDisposed?.();
    if (this.packed) for (const tensor of this.packed.tensors) tensor.dispose();
    this.lazy?.release();
    if (this.#reshaped) for (const tensor of this.#reshaped) tensor.dispose();
    if (this.#attached) for (const tensor of this.#attached) tensor.dispose();
    if (this.#converted) for (const tensor of this.#converted) tensor.dispose();
    this.#native?.dispose();
    this.#dropPending();
  }
}

function sameShape(a: readonly number[], b: readonly number[]): boolean {
  if (a.length !== b.length) return false;
  for (let i = 0; i < a.length; i++) if (a[i] !== b[i]) return false;
  return true;
}
