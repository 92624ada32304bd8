import type { BackendValues, DataType, TensorInfo } from '@tensorflow/tfjs-core';
import type { NativeDtype, PieceLayout } from '@acc/contract';
import { operator, type Tensor as NativeTensor } from '@acc/native';
import { toDtype } from './families/conversion.js';

const reshape = operator('aten::reshape');

/** More shapes of one data than a kernel has inputs, so that none goes while its kernel runs. */
const MAX_SHAPES = 8;

let shapesEpoch = 0;

/**
 * Has other shapes and dtypes of data made anew from now on: in a recorded step, and after it, by a call that is
 * recorded or not as the step around it is. Not to be called while a kernel runs.
 */
export function forgetShapes(): void {
  shapesEpoch++;
}

/** The native side of a {@link TensorData}, without reference to it. */
export interface NativeHandles {
  readonly native: NativeTensor;
  /** {@link native} in other shapes and dtypes, and what was attached to the data. */
  readonly others: readonly (readonly NativeTensor[])[];
}

/** Pieces that data lies in. */
export interface DataPieces {
  readonly layout: PieceLayout;
  readonly count: number;
  /** Absent for one piece, which is the data itself, and for data that was not cut yet. The data's own. */
  readonly pieces?: readonly TensorInfo[] | undefined;
}

/** A tfjs tensor of which a gradient takes no values. */
export interface ValuelessResult {
  readonly tensorId: number;
  /** The scope in which an operator with a gradient function of its own made it; 0 for what is an operator's itself. */
  readonly scopeId: number;
}

/**
 * What a tfjs `dataId` of this backend is: the object itself holds the data, so that no table has to be searched.
 * tfjs counts references to it.
 */
export class TensorData {
  refCount = 1;
  /** True once garbage collection watches over it; see garbage.ts. */
  watched = false;
  /** Where among the data that nobody watches yet; -1 elsewhere. */
  nurseryPlace = -1;
  isDisposed = false;
  /** The element of a scalar that was made of a JavaScript number. What is written in place since does not count. */
  uploaded: number | undefined;
  /** For gradients/saved-shapes.ts. */
  valuelessResult: ValuelessResult | undefined;
  /** Whether it stands for data of which only shapes are asked. */
  isStandIn = false;
  /** What the data is made of, where it lies in pieces. */
  inPieces: DataPieces | undefined;

  /** What there is now. */
  #native: NativeTensor | undefined;
  /** {@link native} in other shapes, the oldest first. */
  #reshaped: NativeTensor[] | undefined;
  #epoch = 0;
  #attached: NativeTensor[] | undefined;
  #converted: NativeTensor[] | undefined;

  constructor(
    readonly dtype: DataType,
    native: NativeTensor | undefined,
    readonly strings: BackendValues | undefined,
    /** Elements in the memory that `native` keeps alive, where it is a view of a part of them. */
    readonly keptElements: number | undefined,
    /** Gives {@link native} when somebody asks for it. */
    private readonly join?: () => NativeTensor,
  ) {
    this.#native = native;
  }

  /** Absent for strings, which live in {@link strings}, and for stand-ins. */
  get native(): NativeTensor | undefined {
    return this.#native ?? (this.join && (this.#native = this.join()));
  }

  /** {@link native}, unless nobody has asked for it yet. */
  get held(): NativeTensor | undefined {
    return this.#native;
  }

  /**
   * The native tensor in the shape `shape`: tfjs tensors of different shapes share one data id, since a reshape copies
   * nothing. Borrowed: it lives as long as this data, or until {@link MAX_SHAPES} other shapes were asked for.
   */
  nativeAs(native: NativeTensor, shape: readonly number[]): NativeTensor {
    if (sameShape(native.shape, shape)) return native;
    this.#dropOldShapes();
    const known = this.#reshaped?.find((tensor) => sameShape(tensor.shape, shape));
    if (known) return known;
    const made = reshape(native, shape);
    this.#reshaped ??= [];
    if (this.#reshaped.length >= MAX_SHAPES) this.#reshaped.shift()!.dispose();
    this.#reshaped.push(made);
    return made;
  }

  /**
   * {@link native} to be written in place, where its shape is `shape`. Its other shapes and dtypes are given up: they may be
   * copies, and those that are views would count as others that share the memory.
   */
  nativeToWrite(shape: readonly number[]): NativeTensor | undefined {
    // What lies in pieces is not written: its pieces would be what it was.
    if (this.inPieces || !this.#native || !sameShape(this.#native.shape, shape)) return undefined;
    this.#dropShapes();
    return this.#native;
  }

  #dropOldShapes(): void {
    if (this.#epoch === shapesEpoch) return;
    this.#epoch = shapesEpoch;
    this.#dropShapes();
  }

  #dropShapes(): void {
    // The list itself stays: garbage collection may know it.
    for (const list of [this.#reshaped, this.#converted]) {
      if (list) for (const tensor of list.splice(0)) tensor.dispose();
    }
  }

  /** The values as `dtype`, converted once until they are written in place. Borrowed. */
  convertedTo(native: NativeTensor, dtype: NativeDtype): NativeTensor {
    this.#dropOldShapes();
    const known = this.#converted?.find(
      (tensor) => tensor.dtype === dtype && sameShape(tensor.shape, native.shape),
    );
    if (known) return known;
    const made = toDtype(native, dtype);
    (this.#converted ??= []).push(made);
    return made;
  }

  /** Native tensors that live as long as this data; see `AccBackend.attach`. */
  get attached(): readonly NativeTensor[] | undefined {
    return this.#attached;
  }

  /** Takes over `tensors`. */
  attach(tensors: readonly NativeTensor[]): void {
    if (this.#attached) this.#attached.push(...tensors);
    else this.#attached = [...tensors];
  }

  /** All handles there are now and will be: what is to be disposed when the collector has taken this object. */
  handles(native: NativeTensor): NativeHandles {
    this.#reshaped ??= [];
    this.#attached ??= [];
    this.#converted ??= [];
    return { native, others: [this.#reshaped, this.#attached, this.#converted] };
  }

  /** Frees the native memory. */
  dispose(): void {
    this.isDisposed = true;
    if (this.#reshaped) for (const tensor of this.#reshaped) tensor.dispose();
    if (this.#attached) for (const tensor of this.#attached) tensor.dispose();
    if (this.#converted) for (const tensor of this.#converted) tensor.dispose();
    this.#native?.dispose();
  }
}

function sameShape(a: readonly number[], b: readonly number[]): boolean {
  if (a.length !== b.length) return false;
  for (let i = 0; i < a.length; i++) if (a[i] !== b[i]) return false;
  return true;
}
