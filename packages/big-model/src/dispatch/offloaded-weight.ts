import type { Variable } from '@tensorflow/tfjs-core';
import { besideTape, patch, type Undo } from '@acc/tfjs-internals';
import type { Place } from './places.js';
import { StoredValues, type WeightSurroundings } from './stored-values.js';
import { writeValues } from './write-values.js';

/** Receives the changes of the weights of all dispatched models. */
export interface OffloadedWeights {
  /** The variable has data of its own again, which is to be stored. */
  changed(weight: OffloadedWeight): void;
  /** Operators use these values. */
  uses(values: StoredValues): void;
  /** No operator uses these values any more. */
  forget(values: StoredValues): void;
}

/** A variable whose values are elsewhere, and in memory while operators use them. */
export class OffloadedWeight {
  /** The values of the variable. Undefined if it has memory only. */
  #current: StoredValues | undefined;
  /** Values from before, which other tensors share. Each has a place of its own. */
  #earlier: StoredValues[] = [];
  /** Where the next values go if nobody shares those from before. */
  #place: Place;
  #undo: Undo;

  /** @param variable Keeps its memory until {@link store} or {@link leaveEmpty}. */
  constructor(
    readonly variable: Variable,
    place: Place,
    private readonly surroundings: WeightSurroundings,
    private readonly all: OffloadedWeights,
  ) {
    this.#place = place;
    this.#undo = this.#watch();
  }

  /** Whether the variable has data of its own, which is newer than what is stored. */
  get isChanged(): boolean {
    return !this.variable.isDisposed && this.variable.dataId !== this.#current?.dataId;
  }

  /**
   * Stores the values of the variable, and frees its memory. Tensors that share earlier values keep
   * those. If it throws, the variable keeps its memory.
   */
  store(): void {
    besideTape(() => {
      this.#sweep();
      const isShared = this.#current?.isHeld ?? false;
      const place = isShared ? this.#place.another() : this.#place;
      try {
        writeValues(this.variable, place, this.surroundings.kernels);
      } catch (error) {
        if (isShared) place.free();
        throw error;
      }
      if (isShared) this.#earlier.push(this.#current!);
      this.#place = place;
      this.#defer();
    });
  }

  /** Frees what memory the variable has. Reading it is an error until it is assigned values. */
  leaveEmpty(): void {
    if (this.isChanged) this.#defer();
    this.#current?.lose();
  }

  /** Lets the variable go for now: assignments to it give it memory. */
  handOver(): void {
    this.#undo();
  }

  /** Takes the variable again that was handed over. */
  takeBack(): void {
    this.#undo = this.#watch();
    if (this.isChanged) this.all.changed(this);
  }

  /** Lets the variable go. Tensors that share its values, and itself, have memory from now on. */
  letGo(): void {
    this.#undo();
    for (const values of this.#earlier) this.#leave(values);
    if (this.#current) this.#leave(this.#current);
    this.#earlier = [];
  }

  #leave(values: StoredValues): void {
    values.leavePlace();
    this.all.forget(values);
  }

  /** Frees the places of earlier values that nobody shares any more. */
  #sweep(): void {
    for (const values of this.#earlier) if (!values.isHeld) this.#leave(values);
    this.#earlier = this.#earlier.filter(({ isHeld }) => isHeld);
  }

  #watch(): Undo {
    const { variable } = this;
    return patch(variable, 'assign', 'offloaded weights', (own) => (values) => {
      own.call(variable, values);
      if (this.isChanged) this.all.changed(this);
    });
  }

  #defer(): void {
    const before = this.#current;
    if (before && !this.#earlier.includes(before)) {
      this.surroundings.residency.leave(before);
      this.all.forget(before);
    }
    const values = new StoredValues(this.variable, this.#place, this.surroundings);
    this.#current = values;
    values.assignTo(this.variable);
    this.all.uses(values);
  }
}
