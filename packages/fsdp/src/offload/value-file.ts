import type { Tensor } from '@tensorflow/tfjs-core';
import type { KernelLayer } from '@acc/contract';
import { libtorchTensor, operator, type Tensor as NativeTensor } from '@acc/native';
import { storeClosed } from './errors.js';
import type { Transfer, ValuePlaces } from './value-places.js';

const empty = operator('aten::empty.memory_format');
const toDtype = operator('aten::to.dtype');

/** Lists whose values are written at the same time: each needs memory for all of its values. */
const MAX_WRITES = 2;

/** Values with a place in the file. All have 4 bytes. */
export interface FileValues {
  readonly shape: readonly number[];
  readonly dtype: 'float32' | 'int32';
  /** The place. */
  readonly offset: number;
  /** The last write to the place; undefined if nothing was written. */
  readonly writing: Transfer | undefined;
  /** Whether the values are only in the file. */
  readonly isAway: boolean;
  /** Values that were never written. The caller disposes them. */
  firstValues?(): Tensor;
}

/** The file of this rank, with a limit to the memory of what is being written to it. */
export class ValueFile {
  readonly #writes: Transfer[] = [];

  /** @param file Belongs to this object. */
  constructor(
    private readonly file: ValuePlaces,
    readonly kernels: KernelLayer,
  ) {}

  get isDisposed(): boolean {
    return this.file.isDisposed;
  }

  reserve(bytes: number): number {
    return this.file.reserve(bytes);
  }

  free(offset: number, bytes: number): void {
    this.file.free(offset, bytes);
  }

  /** Starts to read values that are away. */
  startRead<T extends FileValues>(list: readonly T[]): Fetch<T> {
    return new Fetch(list, this.file, this.kernels);
  }

  /** Reads values that are away. The caller disposes them. */
  read(values: FileValues): Tensor {
    return this.startRead([values]).wait()[0]!.values;
  }

  /**
   * Starts to write tensors, which keep their owners. Their memory lives until the end.
   *
   * @throws AccError Also if an earlier write has failed. Nothing is started then.
   */
  startWrite(tensors: readonly Tensor[], offsets: readonly number[]): Transfer {
    while (this.#writes.length >= MAX_WRITES) this.#writes.shift()!.wait();
    const natives: NativeTensor[] = [];
    try {
      for (const tensor of tensors) natives.push(this.#wordsOf(tensor));
      const transfer = this.file.write(natives, offsets);
      this.#writes.push(transfer);
      return transfer;
    } finally {
      for (const native of natives) native.dispose();
    }
  }

  dispose(): void {
    this.file.dispose();
  }

  /** The values as they lie in the file. An assigned product of autocast has 16 bits for each. */
  #wordsOf(tensor: Tensor): NativeTensor {
    const native = libtorchTensor(this.kernels.toNative(tensor));
    if (native.dtype === 'float32' || native.dtype === 'int32') return native;
    const floats = toDtype(native, 'float32', false, false) as NativeTensor;
    native.dispose();
    return floats;
  }
}

export interface Arrived<T> {
  readonly stored: T;
  readonly values: Tensor;
}

/** Calls `use` with values that have arrived. They are disposed, also after an error. */
export function useArrived<T>(
  arrived: readonly Arrived<T>[],
  use: (stored: T, values: Tensor) => void,
): void {
  try {
    for (const { stored, values } of arrived) use(stored, values);
  } finally {
    for (const { values } of arrived) values.dispose();
  }
}

/** Values on their way from the file. */
export class Fetch<T extends FileValues> {
  readonly #written: readonly T[];
  readonly #unwritten: readonly T[];
  readonly #versions: readonly (Transfer | undefined)[];
  readonly #natives: NativeTensor[] = [];
  readonly #transfer: Transfer | undefined;

  /** @param list Values that are away. */
  constructor(
    readonly list: readonly T[],
    file: ValuePlaces,
    private readonly kernels: KernelLayer,
  ) {
    if (file.isDisposed) throw storeClosed();
    this.#versions = list.map(({ writing }) => writing);
    this.#written = list.filter(({ writing }) => writing);
    this.#unwritten = list.filter(({ writing }) => !writing);
    for (const { writing } of this.#written) writing!.wait();
    this.#transfer = this.#written.length === 0 ? undefined : this.#started(file);
  }

  /** Whether no values have changed since the start. */
  get isCurrent(): boolean {
    return this.list.every((stored, i) => stored.isAway && stored.writing === this.#versions[i]);
  }

  /** Waits for the values. Called once. The caller disposes them. */
  wait(): Arrived<T>[] {
    const arrived: Arrived<T>[] = [];
    try {
      this.#transfer?.wait();
      for (const stored of this.#written) {
        arrived.push({ stored, values: this.kernels.fromNative(this.#natives.shift()!, stored.dtype) });
      }
      for (const stored of this.#unwritten) arrived.push({ stored, values: stored.firstValues!() });
    } catch (error) {
      this.drop();
      for (const { values } of arrived) values.dispose();
      throw error;
    }
    return arrived;
  }

  /** Gives up values that {@link wait} has not returned. */
  drop(): void {
    for (const native of this.#natives.splice(0)) native.dispose();
  }

  #started(file: ValuePlaces): Transfer {
    try {
      for (const { shape, dtype } of this.#written) this.#natives.push(empty(shape, dtype) as NativeTensor);
      return file.read(
        this.#natives,
        this.#written.map(({ offset }) => offset),
      );
    } catch (error) {
      this.drop();
      throw error;
    }
  }
}
