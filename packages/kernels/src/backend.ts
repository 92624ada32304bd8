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
import { AccError, rowsAt, withoutOthersRows, type NativeDtype } from '@acc/contract';
import {
  memoryStats,
  operator,
  refuseRecording,
  setDefaultDevice,
  tensorFrom,
  type MemoryStats,
  type Tensor as NativeTensor,
} from '@acc/native';
import { engineInternals } from '@acc/tfjs-internals';
import { dataNotHere, disposedData, withoutValues } from './data-errors.js';
import { Garbage } from './garbage.js';
import { TensorData, type DataPieces } from './tensor-data.js';

/** tfjs's name of the backend. It holds no underscore: tfjs would skip the set-up of its kernels. */
export const BACKEND_NAME = 'acc';

/** What new native tensors hold for each tfjs dtype. */
export const NATIVE_DTYPE: Readonly<Record<Exclude<DataType, 'string'>, NativeDtype>> = {
  float32: 'float32',
  int32: 'int32',
  bool: 'bool',
  complex64: 'complex64',
};

/** Native dtypes that may live behind a tfjs dtype; others are converted when they are wrapped. */
const ALLOWED: Readonly<Record<string, readonly NativeDtype[]>> = {
  float32: ['float32', 'bfloat16', 'float16'],
  int32: ['int32'],
  bool: ['bool'],
  complex64: ['complex64'],
};

const castTo = operator('aten::_to_copy');

/** Native memory beside tfjs's own counts, as `tf.memory()` shows it. */
export interface AccMemoryInfo extends MemoryStats {
  unreliable: boolean;
}

/**
 * tfjs's storage over libtorch tensors. A tensor keeps tfjs's logical shape (NHWC for images) in whatever strides
 * its kernel left it; reading makes it row-major.
 */
export class AccBackend extends KernelBackend {
  #count = 0;
  /** The data of all stand-ins to which nothing is attached. */
  #empty: TensorData | undefined;
  readonly #garbage = new Garbage(() => this.#count--);
  /** Data that tfjs moved here from another backend, under the ids they had when they were made. */
  readonly #moved = new WeakMap<DataId, TensorData>();

  /** @throws AccError `ACC_DEVICE_UNAVAILABLE`. */
  constructor(readonly device: string) {
    super();
    setDefaultDevice(device);
  }

  /**
   * The native tensor behind `info`, in the shape that `info` has. Borrowed: it lives as long as `info`'s data.
   *
   * @throws AccError `ACC_NOT_NATIVE` for strings.
   */
  native(info: TensorInfo): NativeTensor {
    const data = this.#dataOf(info.dataId);
    if (!data.native) {
      throw new AccError('ACC_NOT_NATIVE', `A tensor of dtype ${data.dtype} has no native form.`);
    }
    return data.nativeAs(data.native, info.shape);
  }

  /** The native tensor behind `info` in the shape in which its data was made; undefined for strings. Borrowed. */
  nativeOfData(info: TensorInfo): NativeTensor | undefined {
    return this.#dataOf(info.dataId).native;
  }

  /** The values of `info` as `dtype`, converted once until they are written in place. Borrowed, as {@link native}'s. */
  converted(info: TensorInfo, dtype: NativeDtype): NativeTensor {
    return this.#dataOf(info.dataId).convertedTo(this.native(info), dtype);
  }

  /**
   * The native tensor behind `info` to be written in place, where `info` is the only tfjs tensor of its data and the
   * data was made in its shape; undefined elsewhere. Whether native views share the memory is for `memoryFlags` to
   * tell. Borrowed, as {@link native}'s.
   */
  nativeToWrite(info: TensorInfo): NativeTensor | undefined {
    const data = this.#dataOf(info.dataId);
    return data.refCount === 1 ? data.nativeToWrite(info.shape) : undefined;
  }

  /**
   * A tensor of tfjs dtype `dtype` that takes over `native`; converted when libtorch gave another element type than
   * may stand for `dtype` (an int64 index, say).
   *
   * @param keptElements For a view of a part: {@link keptElements} of the tensor that it is a part of.
   */
  wrap(native: NativeTensor, dtype: DataType, keptElements?: number): TensorInfo {
    let held = native;
    if (!ALLOWED[dtype]!.includes(native.dtype)) {
      held = castTo(native, NATIVE_DTYPE[dtype as 'float32']);
      native.dispose();
    }
    return {
      dataId: this.#hold(new TensorData(dtype, held, undefined, keptElements)),
      shape: held.shape as number[],
      dtype,
    };
  }

  /** A tfjs tensor of {@link wrap}'s. Caller owns it. */
  tensorOf(native: NativeTensor, dtype: DataType): Tensor {
    // tfjs books a tensor without a named backend on the active one, which may be another.
    return engine().makeTensorFromTensorInfo(this.wrap(native, dtype), this);
  }

  /**
   * A tensor whose data lies in pieces, which it takes over.
   *
   * @param join Gives the whole when somebody asks for it.
   */
  wrapPieces(
    { shape, dtype }: Omit<TensorInfo, 'dataId'>,
    inPieces: DataPieces,
    join: () => NativeTensor,
  ): TensorInfo {
    const data: TensorData = new TensorData(dtype, undefined, undefined, undefined, () => {
      const native = join();
      // It holds memory only from now on.
      queueMicrotask(() => data.isDisposed || this.#garbage.add(data));
      return native;
    });
    const info = { dataId: this.#hold(data), shape, dtype };
    this.setPieces(info, inPieces);
    return info;
  }

  /** From now on the data of `info` lies in pieces, which it takes over, as well. */
  setPieces(info: TensorInfo, inPieces: DataPieces): void {
    const data = this.#dataOf(info.dataId);
    this.#disposePieces(data);
    data.inPieces = inPieces;
    // tfjs, which looks for leaks, counts what a kernel has returned.
    this.#count -= inPieces.pieces?.length ?? 0;
  }

  /** The pieces that the data of `info` lies in. Borrowed. */
  piecesOf(info: TensorInfo): DataPieces | undefined {
    return this.#find(info.dataId)?.inPieces;
  }

  /** The first piece of a tensor whose rows lie in pieces. Borrowed. */
  firstPart({ dataId, shape, dtype }: TensorInfo): TensorInfo | undefined {
    const inPieces = this.#find(dataId)?.inPieces;
    const at = inPieces?.layout.kind === 'rows' && rowsAt(shape, inPieces.layout);
    if (!at) return undefined;
    const piece = inPieces.pieces?.[0]!.dataId ?? dataId;
    return { dataId: piece, shape: withoutOthersRows(shape, at, inPieces.count), dtype };
  }

  /** The native dtype behind `info`; undefined for strings. */
  nativeDtypeOf(info: TensorInfo): NativeDtype | undefined {
    const [piece] = this.piecesOf(info)?.pieces ?? [];
    return piece ? this.nativeDtypeOf(piece) : this.nativeOfData(info)?.dtype;
  }

  /** Elements in the memory that `info`'s data keeps alive: its own or, where it is a view, those of its base. */
  keptElements(info: TensorInfo): number {
    return this.#dataOf(info.dataId).keptElements ?? util.sizeFromShape(info.shape);
  }

  /**
   * Keeps `tensors` with the data of `info`, a kernel's result, until it is disposed: what the kernel's gradient needs
   * beside inputs and result. As further results of the kernel they would cost tfjs a tensor of zeros each in every
   * gradient. Takes them over.
   */
  attach(info: TensorInfo, tensors: readonly NativeTensor[]): void {
    this.#dataOf(info.dataId).attach(tensors);
  }

  /** Whether something is attached to the data of `info`, which was not moved from another backend since. */
  hasAttached(info: TensorInfo): boolean {
    return this.#dataOf(info.dataId).attached !== undefined;
  }

  /**
   * What was attached to the data of `info`. Borrowed.
   *
   * @throws AccError `ACC_ATTACHED_LOST` when there is nothing: the data left the backend in between.
   */
  attached(info: TensorInfo): readonly NativeTensor[] {
    const { attached } = this.#dataOf(info.dataId);
    if (attached && attached.length > 0) return attached;
    throw withoutValues();
  }

  /**
   * What stands for `info` where only its shape and dtype are needed: it keeps none of its memory, and throws
   * `ACC_NOT_NATIVE` when it is asked for its values.
   */
  standIn({ shape, dtype }: TensorInfo): TensorInfo {
    if (this.#empty && !this.#empty.isDisposed) this.#empty.refCount++;
    else this.#empty = this.#hold(newStandIn());
    return { dataId: this.#empty, shape, dtype };
  }

  /** As {@link standIn}, with what is attached to the data of `info`. */
  standInWithAttached({ dataId, shape, dtype }: TensorInfo): TensorInfo {
    const data = newStandIn();
    const { attached, inPieces } = this.#dataOf(dataId);
    data.attach(attached?.map((tensor) => tensor.alias()) ?? []);
    const info = { dataId: this.#hold(data), shape, dtype };
    if (inPieces) {
      this.setPieces(info, {
        ...inPieces,
        pieces: inPieces.pieces?.map((piece) => this.standInWithAttached(piece)),
      });
    }
    return info;
  }

  /** A tensor of strings. `values` are encoded as tfjs encodes them, in UTF-8 bytes. */
  wrapStrings(values: BackendValues, shape: number[]): TensorInfo {
    return {
      dataId: this.#hold(new TensorData('string', undefined, values, undefined)),
      shape,
      dtype: 'string',
    };
  }

  override write(values: BackendValues, shape: number[], dtype: DataType): DataId {
    return this.#hold(this.#store(values, shape, dtype));
  }

  override move(
    dataId: DataId,
    values: BackendValues,
    shape: number[],
    dtype: DataType,
    refCount: number,
  ): void {
    const data = this.#store(values, shape, dtype);
    data.refCount = refCount;
    this.#moved.set(dataId, this.#hold(data));
  }

  override readSync(dataId: DataId): BackendValues {
    const data = this.#dataOf(dataId);
    if (data.isStandIn) throw withoutValues();
    if (!data.native) {
      refuseRecording('reads strings');
      return data.strings!;
    }
    return data.native.read(NATIVE_DTYPE[data.dtype as 'float32']) as BackendValues;
  }

  override async read(dataId: DataId): Promise<BackendValues> {
    const data = this.#dataOf(dataId);
    // In the host's memory there is nothing to wait for.
    if (!data.native || this.device === 'cpu') return this.readSync(dataId);
    return (await data.native.readAsync(NATIVE_DTYPE[data.dtype as 'float32'])) as BackendValues;
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
    this.#disposePieces(data);
    return true;
  }

  #disposePieces({ inPieces }: TensorData): void {
    for (const piece of inPieces?.pieces ?? []) {
      this.#count++;
      this.disposeData(piece.dataId);
    }
  }

  /** Frees what a kernel made for itself. */
  disposeInfo(info: TensorInfo): void {
    this.disposeData(info.dataId);
  }

  override refCount(dataId: DataId): number {
    return this.#find(dataId)?.refCount ?? 0;
  }

  override incRef(dataId: DataId): void {
    this.#dataOf(dataId).refCount++;
  }

  /** Stand-ins share one that holds nothing, and is nobody's leak. */
  override numDataIds(): number {
    return this.#empty && !this.#empty.isDisposed ? this.#count - 1 : this.#count;
  }

  override memory(): AccMemoryInfo {
    return { unreliable: false, ...memoryStats() };
  }

  override time(run: () => void): Promise<BackendTimingInfo> {
    const start = util.now();
    run();
    return Promise.resolve({ kernelMs: util.now() - start });
  }

  override floatPrecision(): 16 | 32 {
    return 32;
  }

  override dispose(): void {}

  #store(values: BackendValues, shape: number[], dtype: DataType): TensorData {
    if (dtype === 'string') return new TensorData(dtype, undefined, values, undefined);
    const nativeDtype = NATIVE_DTYPE[dtype];
    const elements = toElements(values, shape, dtype);
    const data = new TensorData(dtype, tensorFrom(elements, nativeDtype, shape), undefined, undefined);
    if (dtype === 'float32' && shape.length === 0) data.uploaded = elements[0] as number;
    return data;
  }

  #hold(data: TensorData): TensorData {
    this.#count++;
    this.#garbage.add(data);
    return data;
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
    // tfjs would ask this backend for the data, which would ask tfjs again.
    if (booked.backend === this) throw dataNotHere(BACKEND_NAME);
    // A tensor that lives on another backend: tfjs's engine reads it there and calls `move` here.
    tfjs.moveData(this, dataId);
    return this.#moved.get(dataId)!;
  }
}

function newStandIn(): TensorData {
  const data = new TensorData('float32', undefined, undefined, undefined);
  data.isStandIn = true;
  return data;
}

type Elements = Parameters<typeof tensorFrom>[0];

/** The elements in the typed array that `dtype` has natively. tfjs gives null for "all zeros". */
function toElements(values: BackendValues | null, shape: number[], dtype: DataType): Elements {
  const size = util.sizeFromShape(shape);
  if (dtype === 'int32')
    return values instanceof Int32Array ? values : Int32Array.from(numbers(values, size));
  if (dtype === 'bool') return values instanceof Uint8Array ? values : Uint8Array.from(numbers(values, size));
  return values instanceof Float32Array ? values : Float32Array.from(numbers(values, size));
}

function numbers(values: BackendValues | null, size: number): ArrayLike<number> {
  return (values ?? new Uint8Array(size)) as ArrayLike<number>;
}
