import type { Variable } from '@tensorflow/tfjs-core';
import { cannotDefer } from '@acc/placement';
import { engineInternals } from '@acc/tfjs-internals';
import { StoredVariable, type NewVariable, type StoredSource } from './stored-variable.js';
import type { Fetch, ValueFile } from './value-file.js';

/** The store of each stored variable. */
const stores = new WeakMap<Variable, VariableStore>();

/** Whether the values of a variable were in a file that is closed. */
export function isLost(variable: Variable): boolean {
  return stores.get(variable)?.hasLost(variable) ?? false;
}

/** Variables whose values lie in a file. */
export class VariableStore {
  readonly #stored = new WeakMap<Variable, StoredVariable>();
  readonly #source: StoredSource;
  /** Variables that were read by a program, and stay in memory until others are. */
  readonly #resident = new Set<StoredVariable>();

  constructor(private readonly file: ValueFile) {
    const { kernels } = file;
    this.#source = {
      defer: (info, load) => {
        if (!kernels.defer) throw cannotDefer(kernels.backendName);
        return kernels.defer(info, load);
      },
      reserve: (bytes) => file.reserve(bytes),
      free: (offset, bytes) => file.free(offset, bytes),
      read: (stored) => file.read(stored),
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
  startRead(list: readonly StoredVariable[]): Fetch<StoredVariable> {
    return this.file.startRead(list.filter(({ isAway }) => isAway));
  }

  /** Starts to write the variables that are in memory, and frees their memory. */
  write(list: readonly StoredVariable[]): void {
    const here = list.filter(({ isHere }) => isHere);
    if (here.length === 0) return;
    for (const stored of here) stored.separate();
    const transfer = this.file.startWrite(
      here.map(({ variable }) => variable),
      here.map(({ offset }) => offset),
    );
    for (const stored of here) stored.putAway(transfer);
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

  #add(stored: StoredVariable): StoredVariable {
    this.#stored.set(stored.variable, stored);
    stores.set(stored.variable, this);
    return stored;
  }

  #noteRead(stored: StoredVariable): void {
    // A kernel that reads one variable may have the memory of another at hand.
    if (engineInternals().state.kernelDepth === 0) this.releaseRead();
    this.#resident.add(stored);
  }
}
