import type { Tensor, Variable } from '@tensorflow/tfjs-core';
import type { KernelLayer } from '@acc/contract';
import {
  libtorchTensor,
  operator,
  type FileTransfer,
  type Tensor as NativeTensor,
  type TensorFile,
} from '@acc/native';
import { engineInternals } from '@acc/tfjs-internals';
import { cannotDefer } from '../errors.js';
import { storeClosed } from './errors.js';
import { StoredVariable, type NewVariable, type StoredSource } from './stored-variable.js';

const empty = operator('aten::empty.memory_format');
const toDtype = operator('aten::to.dtype');

/** The store of each stored variable. */
const stores = new WeakMap<Variable, VariableStore>();

/** Whether the values of a variable were in a file that is closed. */
export function isLost(variable: Variable): boolean {
  return stores.get(variable)?.hasLost(variable) ?? false;
}

/** Lists whose values are written at the same time: each needs memory for all of its values. */
const MAX_WRITES = 2;

/** Variables whose values lie in a file. */
export class VariableStore {
  readonly #stored = new WeakMap<Variable, StoredVariable>();
  readonly #source: StoredSource;
  readonly #writes: FileTransfer[] = [];
  /** Variables that were read by a program, and stay in memory until others are. */
  readonly #resident = new Set<StoredVariable>();

  /** @param file Belongs to the store. */
  constructor(
    private readonly file: TensorFile,
    private readonly kernels: KernelLayer,
  ) {
    this.#source = {
      defer: (info, load) => {
        if (!kernels.defer) throw cannotDefer(kernels.backendName);
        return kernels.defer(info, load);
      },
      reserve: (bytes) => file.reserve(bytes),
      free: (offset, bytes) => file.free(offset, bytes),
      read: (stored) => new Fetch([stored], this.file, this.kernels).wait()[0]!.values,
      noteRead: (stored) => this.#noteRead(stored),
    };
  }

  /** A variable whose first values are made when they are needed. */
  create(given: NewVariable): StoredVariable {
    return this.#add(new StoredVariable(given, this.#source));
  }

  /** The stored form of a variable, which keeps its values in memory until {@link write}. */
  of(variable: Variable): StoredVariable {
    return this.#stored.get(variable) ?? this.#add(new StoredVariable(variable, this.#source));
  }

  /** Starts to read the values of the variables that are away. */
  startRead(list: readonly StoredVariable[]): Fetch {
    return new Fetch(
      list.filter(({ isAway }) => isAway),
      this.file,
      this.kernels,
    );
  }

  /** Starts to write the variables that are in memory, and frees their memory. */
  write(list: readonly StoredVariable[]): void {
    const here = list.filter(({ isHere }) => isHere);
    if (here.length === 0) return;
    for (const stored of here) stored.separate();
    const natives = here.map(({ variable }) => this.#floatsOf(variable));
    const transfer = this.file.write(
      natives,
      here.map(({ offset }) => offset),
    );
    for (const native of natives) native.dispose();
    for (const stored of here) stored.putAway(transfer);
    this.#writes.push(transfer);
    while (this.#writes.length > MAX_WRITES) this.#writes.shift()!.wait();
  }

  /** Frees values that a program has read. */
  releaseRead(): void {
    for (const stored of this.#resident) stored.release();
    this.#resident.clear();
  }

  /** Whether a variable of this store has lost its values, because the file is closed. */
  hasLost(variable: Variable): boolean {
    return this.file.isDisposed && this.#stored.get(variable)!.isAway;
  }

  dispose(): void {
    this.releaseRead();
    this.file.dispose();
  }

  #add(stored: StoredVariable): StoredVariable {
    this.#stored.set(stored.variable, stored);
    stores.set(stored.variable, this);
    return stored;
  }

  /** The values as they lie in the file. An assigned product of autocast has 16 bits for each. */
  #floatsOf(variable: Variable): NativeTensor {
    const native = libtorchTensor(this.kernels.toNative(variable));
    if (native.dtype === 'float32') return native;
    const floats = toDtype(native, 'float32', false, false) as NativeTensor;
    native.dispose();
    return floats;
  }

  #noteRead(stored: StoredVariable): void {
    // A kernel that reads one variable may have the memory of another at hand.
    if (engineInternals().state.kernelDepth === 0) this.releaseRead();
    this.#resident.add(stored);
  }
}

/** Values on their way from the file. */
export class Fetch {
  readonly #written: readonly StoredVariable[];
  readonly #unwritten: readonly StoredVariable[];
  readonly #versions: readonly (FileTransfer | undefined)[];
  readonly #natives: NativeTensor[];
  readonly #transfer: FileTransfer | undefined;

  /** @param list Variables that are away. */
  constructor(
    readonly list: readonly StoredVariable[],
    file: TensorFile,
    private readonly kernels: KernelLayer,
  ) {
    if (file.isDisposed) throw storeClosed();
    this.#versions = list.map(({ writing }) => writing);
    this.#written = list.filter(({ writing }) => writing);
    this.#unwritten = list.filter(({ writing }) => !writing);
    for (const { writing } of this.#written) writing!.wait();
    this.#natives = this.#written.map(({ variable }) => empty(variable.shape, 'float32') as NativeTensor);
    this.#transfer =
      this.#natives.length === 0
        ? undefined
        : file.read(
            this.#natives,
            this.#written.map(({ offset }) => offset),
          );
  }

  /** Whether no variable has changed since the start. */
  get isCurrent(): boolean {
    return this.list.every((stored, i) => stored.isAway && stored.writing === this.#versions[i]);
  }

  /** Waits for the values. Called once. The caller disposes them. */
  wait(): { stored: StoredVariable; values: Tensor }[] {
    try {
      this.#transfer?.wait();
    } catch (error) {
      this.drop();
      throw error;
    }
    return [
      ...this.#written.map((stored, i) => ({
        stored,
        values: this.kernels.fromNative(this.#natives[i]!, 'float32'),
      })),
      ...this.#unwritten.map((stored) => ({ stored, values: stored.firstValues() })),
    ];
  }

  /** Gives up the values. */
  drop(): void {
    for (const native of this.#natives) native.dispose();
  }
}
