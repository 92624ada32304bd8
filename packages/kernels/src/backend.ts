import {
  engine,
  KernelBackend,
  util,
  type BackendTimingInfo,
  type BackendValues,
  type DataId,
  type DataType,
  type Tensor,
  type TensorInfo,
} from '@tensorflow/tfjs-core';
import { AccError, duringWait, rowsAt, localRowsShape, type NativeDtype } from '@acc/contract';
import {
  memoryStats,
  operator,
  refuseRecording,
  setDefaultDevice,
  synchronize,
  type Tensor as NativeTensor,
} from '@acc/native';
import { engineInternals } from '@acc/tfjs-internals';
import { ALLOWED, BACKEND_NAME, NATIVE_DTYPE, type AccMemoryInfo } from './acc-names.js';
import { dataNotHere, disposedData, withoutValues } from './data-errors.js';
import { IndexChecks } from './families/index-checks.js';
import { Garbage } from './garbage.js';
import { computePending } from './pending/all-pending.js';
import type { PendingValue } from './pending/pending-value.js';
import { TensorData, type DataShards } from './tensor-data.js';
import { dataFrom } from './typed-elements.js';

const castTo = operator('aten::_to_copy');

/**
 * Stores tfjs tensors as libtorch tensors. A tensor keeps tfjs's logical shape (NHWC for images)
 * and the strides that its kernel produced; reading makes it row-major.
 */
export class AccBackend extends KernelBackend {
  /** Values of a new tensor are copied at once, so their memory can be used again. */
  readonly copiesValues = true;
  #count = 0;
  /** The shared data of all stand-ins without attached tensors. */
  #empty: TensorData | undefined;
  readonly #garbage = new Garbage(() => this.#count--);
  /** Data that tfjs moved here from another backend, by the id that it got there. */
  readonly #moved = new WeakMap<DataId, TensorData>();

  /** For lookups on a device that computes after the call. The CPU refuses a wrong index at once. */
  readonly indexChecks: IndexChecks | undefined;

  /** @throws AccError `ACC_DEVICE_UNAVAILABLE`. */
  constructor(readonly device: string) {
    super();
    setDefaultDevice(device);
    if (device !== 'cpu') this.indexChecks = new IndexChecks();
  }

  /**
   * The native tensor of `info`, in the shape of `info`. Borrowed: it lives as long as `info`'s
   * data.
   *
   * @throws AccError `ACC_NOT_NATIVE` for strings.
   */
  native(info: TensorInfo): NativeTensor {
    const data = this.#dataOf(info.dataId);
    if (!data.native) {
      throw new AccError('ACC_NOT_NATIVE', `A tensor of dtype ${data.dtype} cannot become a native tensor.`, {
        help: 'Strings stay in JavaScript. Encode them as numbers first.',
      });
    }
    return data.nativeAs(data.native, info.shape);
  }

  /** The native tensor of `info` in its data's original shape; undefined for strings. Borrowed. */
  nativeOfData(info: TensorInfo): NativeTensor | undefined {
    return this.#dataOf(info.dataId).native;
  }

  /** As {@link nativeOfData}, but undefined for a deferred tensor that is not in memory. */
  heldNative(info: TensorInfo): NativeTensor | undefined {
    const data = this.#dataOf(info.dataId);
    return data.inShards || data.isWaiting || data.lazy ? data.native : data.held;
  }

  /** The values of `info` as `dtype`, cached until they are written in place. Borrowed. */
  converted(info: TensorInfo, dtype: NativeDtype): NativeTensor {
    return this.#dataOf(info.dataId).convertedTo(this.native(info), dtype);
  }

  /**
   * The native tensor of `info` for writing in place. Undefined if another tfjs tensor shares the
   * data, or if the data was created in another shape. `memoryFlags` tells whether native views
   * share the memory. Borrowed, like {@link native}.
   */
  nativeToWrite(info: TensorInfo): NativeTensor | undefined {
    const data = this.#dataOf(info.dataId);
    return data.refCount === 1 ? data.nativeToWrite(info.shape) : undefined;
  }

  /**
   * A tensor of tfjs dtype `dtype` that takes ownership of `native`. Converts `native` if its
   * element type is not allowed for `dtype` (for example an int64 index).
   *
   * @param keptElements For a view of a part: {@link keptElements} of the base tensor.
   */
  wrap(native: NativeTensor, dtype: DataType, keptElements?: number): TensorInfo {
    let held = native;
    if (!ALLOWED[dtype]!.includes(native.dtype)) {
      held = castTo(native, NATIVE_DTYPE[dtype as 'float32']);
      native.dispose();
    }
    return {
      dataId: this.hold(new TensorData(dtype, held, undefined, keptElements)),
      shape: held.shape as number[],
      dtype,
    };
  }

  /** A tensor whose value is computed when it is read. Takes over one use of the value. */
  wrapPending(value: PendingValue, keptElements?: number): TensorInfo {
    const data = new TensorData('float32', undefined, undefined, keptElements);
    data.wait(value, this.#garbage.noteComputed);
    return { dataId: this.hold(data), shape: value.shape as number[], dtype: 'float32' };
  }

  /** Like {@link wrap}, but returns a tfjs tensor. Caller owns it. */
  tensorOf(native: NativeTensor, dtype: DataType): Tensor {
    // tfjs registers a tensor without a named backend with the active one, which may be another.
    return engine().makeTensorFromTensorInfo(this.wrap(native, dtype), this);
  }

  /**
   * A tensor whose data is stored in shards. Takes ownership of the shards.
   *
   * @param join Makes the whole tensor when it is first needed.
   */
  wrapShards(
    { shape, dtype }: Omit<TensorInfo, 'dataId'>,
    inShards: DataShards,
    join: () => NativeTensor,
  ): TensorInfo {
    const data: TensorData = new TensorData(dtype, undefined, undefined, undefined, () => {
      const native = join();
      // The data holds native memory only from now on.
      queueMicrotask(() => data.isDisposed || this.#garbage.add(data));
      return native;
    });
    const info = { dataId: this.hold(data), shape, dtype };
    this.setShards(info, inShards);
    return info;
  }

  /** Also stores the data of `info` in shards from now on; takes ownership of them. */
  setShards(info: TensorInfo, inShards: DataShards): void {
    const data = this.#dataOf(info.dataId);
    this.#disposeShards(data);
    data.inShards = inShards;
    // tfjs checks kernels for leaks by counting the data ids that they return, so shards do not
    // count.
    if (!inShards.isBorrowed) this.#count -= inShards.shards?.length ?? 0;
  }

  /** Gives data other values: `native`, or a shard that `join` makes whole when it is read. */
  replaceData(
    info: TensorInfo,
    native?: NativeTensor,
    inShards?: DataShards,
    join?: () => NativeTensor,
  ): void {
    const data = this.#dataOf(info.dataId);
    this.#garbage.forget(data);
    this.#disposeShards(data);
    data.inShards = undefined;
    if (inShards) this.setShards(info, inShards);
    data.replace(native, join);
    this.#garbage.add(data);
  }

  /** The shards of the data of `info`. Borrowed. */
  shardsOf(info: TensorInfo): DataShards | undefined {
    return this.#find(info.dataId)?.inShards;
  }

  /** The first shard of a tensor cut into shards by rows; else undefined. Borrowed. */
  firstShard({ dataId, shape, dtype }: TensorInfo): TensorInfo | undefined {
    const inShards = this.#find(dataId)?.inShards;
    const at = inShards?.layout.kind === 'rows' && rowsAt(shape, inShards.layout);
    if (!at) return undefined;
    const shard = inShards.shards?.[0]!.dataId ?? dataId;
    return { dataId: shard, shape: localRowsShape(shape, at, inShards.count), dtype };
  }

  /** The native dtype of `info`; undefined for strings and for packed values. */
  nativeDtypeOf(info: TensorInfo): NativeDtype | undefined {
    const [shard] = this.shardsOf(info)?.shards ?? [];
    const data = this.#dataOf(info.dataId);
    if (data.pending) return 'float32';
    if (data.packed) return undefined;
    if (shard) return this.nativeDtypeOf(shard);
    return data.held?.dtype ?? data.deferredDtype ?? data.native?.dtype;
  }

  /** Elements in the memory that `info`'s data keeps alive: its own or, for a view, its base's. */
  keptElements(info: TensorInfo): number {
    return this.#dataOf(info.dataId).keptElements ?? util.sizeFromShape(info.shape);
  }

  /**
   * Keeps `tensors` with the data of `info`, a kernel's result, until the data is disposed. They
   * are what the kernel's gradient needs besides inputs and result. If they were further results of
   * the kernel, tfjs would make a tensor of zeros for each in every gradient. Takes ownership of
   * them.
   */
  attach(info: TensorInfo, tensors: readonly NativeTensor[]): void {
    this.#dataOf(info.dataId).attach(tensors);
  }

  /**
   * Whether the data of `info` has attached tensors. They are lost if the data moves from another
   * backend.
   */
  hasAttached(info: TensorInfo): boolean {
    return this.#dataOf(info.dataId).attached !== undefined;
  }

  /**
   * The tensors attached to the data of `info`. Borrowed.
   *
   * @throws AccError `ACC_ATTACHED_LOST` if there are none: the data left the backend in between.
   */
  attached(info: TensorInfo): readonly NativeTensor[] {
    const { attached } = this.#dataOf(info.dataId);
    if (attached && attached.length > 0) return attached;
    throw withoutValues();
  }

  /**
   * A stand-in for `info` for uses that need only shape and dtype. It keeps no memory alive.
   * `native` throws `ACC_NOT_NATIVE` for it; a read of its values throws `ACC_ATTACHED_LOST`.
   */
  standIn({ shape, dtype }: TensorInfo): TensorInfo {
    if (this.#empty && !this.#empty.isDisposed) this.#empty.refCount++;
    else this.#empty = this.hold(TensorData.standIn());
    return { dataId: this.#empty, shape, dtype };
  }

  /** Like {@link standIn}, with the tensors attached to the data of `info`. */
  standInWithAttached({ dataId, shape, dtype }: TensorInfo): TensorInfo {
    const data = TensorData.standIn();
    const { attached, inShards } = this.#dataOf(dataId);
    data.attach(attached?.map((tensor) => tensor.alias()) ?? []);
    const info = { dataId: this.hold(data), shape, dtype };
    if (inShards) {
      this.setShards(info, {
        ...inShards,
        shards: inShards.shards?.map((shard) => this.standInWithAttached(shard)),
      });
    }
    return info;
  }

  /** A tensor of strings. `values` are UTF-8 bytes, as tfjs encodes strings. */
  wrapStrings(values: BackendValues, shape: number[]): TensorInfo {
    return {
      dataId: this.hold(new TensorData('string', undefined, values, undefined)),
      shape,
      dtype: 'string',
    };
  }

  override write(values: BackendValues, shape: number[], dtype: DataType): DataId {
    return this.hold(dataFrom(values, shape, dtype));
  }

  override move(
    dataId: DataId,
    values: BackendValues,
    shape: number[],
    dtype: DataType,
    refCount: number,
  ): void {
    const data = dataFrom(values, shape, dtype);
    data.refCount = refCount;
    this.#moved.set(dataId, this.hold(data));
  }

  override readSync(dataId: DataId): BackendValues {
    const data = this.#dataOf(dataId);
    if (data.isStandIn) throw withoutValues();
    const once = data.readOnce();
    if (once) return once;
    if (!data.native) {
      refuseRecording('it reads strings');
      return data.strings!;
    }
    this.indexChecks?.report();
    const dtype = NATIVE_DTYPE[data.dtype as 'float32'];
    return duringWait('reads', () => data.native!.read(dtype)) as BackendValues;
  }

  override async read(dataId: DataId): Promise<BackendValues> {
    const data = this.#dataOf(dataId);
    // Host memory needs no asynchronous read.
    if (data.readsOnce || !data.native || this.device === 'cpu') return this.readSync(dataId);
    const { native } = data;
    const values = duringWait('reads', () => native.readAsync(NATIVE_DTYPE[data.dtype as 'float32']));
    await Promise.all([values, this.indexChecks?.reportAsync()]);
    return (await values) as BackendValues;
  }

  override disposeData(dataId: DataId, force = false): boolean {
    const data = this.#find(dataId);
    if (!data) return true;
    data.refCount--;
    if (!force && data.refCount > 0) return false;
    this.#moved.delete(dataId);
    this.#garbage.forget(data);
    data.dispose();
    this.#count--;
    this.#disposeShards(data);
    return true;
  }

  #disposeShards({ inShards }: TensorData): void {
    if (inShards?.isBorrowed) return;
    for (const shard of inShards?.shards ?? []) {
      this.#count++;
      // tfjs counts data of which it once had a tensor, such as a gradient's own rows.
      if (this.disposeData(shard.dataId)) engine().removeDataId(shard.dataId, this);
    }
  }

  /** Frees an intermediate result of a kernel. */
  disposeInfo(info: TensorInfo): void {
    this.disposeData(info.dataId);
  }

  override refCount(dataId: DataId): number {
    return this.#find(dataId)?.refCount ?? 0;
  }

  override incRef(dataId: DataId): void {
    this.#dataOf(dataId).refCount++;
  }

  /** Excludes the shared data of stand-ins, which holds nothing and is not a leak. */
  override numDataIds(): number {
    return this.#empty && !this.#empty.isDisposed ? this.#count - 1 : this.#count;
  }

  override memory(): AccMemoryInfo {
    return { unreliable: false, ...memoryStats() };
  }

  override time(run: () => void): Promise<BackendTimingInfo> {
    // A device goes on after the call that starts its work.
    const finish = () => (computePending(), synchronize());
    finish();
    const start = util.now();
    run();
    finish();
    return Promise.resolve({ kernelMs: util.now() - start });
  }

  override floatPrecision(): 16 | 32 {
    return 32;
  }

  override dispose(): void {}

  /** Counts new data, and lets garbage collection watch it. Returns it as its data id. */
  hold(data: TensorData): TensorData {
    this.#count++;
    this.#garbage.add(data);
    return data;
  }

  /** Frees data soon after its program drops it, if tensors still hold it. */
  watch(dataId: DataId): void {
    const data = this.#find(dataId);
    if (data) this.#garbage.watch(data);
  }

  #find(dataId: DataId): TensorData | undefined {
    if (dataId instanceof TensorData && !dataId.isDisposed) return dataId;
    return this.#moved.get(dataId);
  }

  #dataOf(dataId: DataId): TensorData {
    const own = this.#find(dataId);
    if (own) return own;
    const tfjs = engineInternals();
    const booked = tfjs.state.tensorInfo.get(dataId);
    if (!booked) throw disposedData();
    // Without this check, tfjs and this backend would ask each other for the data endlessly.
    if (booked.backend === this) throw dataNotHere(BACKEND_NAME);
    // The tensor is on another backend: tfjs's engine reads it there and calls `move` here.
    tfjs.moveData(this, dataId);
    return this.#moved.get(dataId)!;
  }
}
