import type { DataId, Tensor, Variable } from '@tensorflow/tfjs-core';
import type { DeferredTensor, KernelLayer } from '@acc/contract';
import { refuseRecording } from '@acc/native';
import { besideTape } from '@acc/tfjs-internals';
import { lostWeight } from '../errors.js';
import type { OffloadableDtype } from '../value-bytes.js';
import { byteLength } from './device-map.js';
import type { Place } from './places.js';
import type { Residency } from './residency.js';

export interface WeightSurroundings {
  readonly kernels: KernelLayer;
  readonly residency: Residency;
}

/** The data of weights that have lost their values. */
const lostData = new WeakSet<DataId>();

/** @throws AccError `ACC_WEIGHT_LOST` for the first variable that has lost its values. */
export function requireValues(variables: readonly Variable[]): void {
  const lost = variables.find(({ dataId }) => lostData.has(dataId));
  if (lost) throw lostWeight(lost.name);
}

/** Values of a weight that are in a place, and in memory while operators use them. */
export class StoredValues {
  readonly bytes: number;
  /** The number of operators that use them now. */
  uses = 0;
  readonly #name: string;
  readonly #shape: readonly number[];
  readonly #dtype: OffloadableDtype;
  readonly #deferred: DeferredTensor;
  /** The error that a read throws. */
  #error: unknown;

  constructor(
    variable: Variable,
    readonly place: Place,
    private readonly surroundings: WeightSurroundings,
  ) {
    this.bytes = byteLength(variable);
    this.#name = variable.name;
    this.#shape = variable.shape;
    this.#dtype = variable.dtype as OffloadableDtype;
    this.#deferred = surroundings.kernels.defer!(variable, () => this.#load());
  }

  get dataId(): DataId {
    return this.#deferred.tensor.dataId;
  }

  /** Whether any tensors share the values. */
  get isHeld(): boolean {
    return this.#deferred.holders > 0;
  }

  /** Called once. From then on the values are those of the variable and of its clones. */
  assignTo(variable: Variable): void {
    const { tensor } = this.#deferred;
    variable.assign(tensor);
    tensor.dispose();
  }

  /** Frees the memory of the values. The next use reads them again. */
  release(): void {
    this.#deferred.release();
  }

  /** An operator uses the values. */
  touch(): void {
    this.surroundings.residency.touch(this);
  }

  /** From now on, a read is an error. */
  lose(): void {
    this.#error = lostWeight(this.#name);
    lostData.add(this.dataId);
    this.surroundings.residency.forget(this);
    this.release();
  }

  /**
   * The place goes to others. Tensors that share the values have memory from now on. If they cannot
   * be read now, a later read throws why.
   */
  leavePlace(): void {
    if (this.isHeld && !this.#deferred.isFilled && this.#error === undefined) {
      try {
        besideTape(() => this.#fill());
      } catch (error) {
        this.#error = error;
      }
    }
    this.surroundings.residency.forget(this);
    this.place.free();
  }

  #load(): void {
    if (this.#error !== undefined) throw this.#error as Error;
    const { kernels, residency } = this.surroundings;
    // A replay would repeat the allocation, and not the read. The recorder collects the memory of
    // several tensors, so they stay.
    const isRecording = kernels.recorder?.isRecording ?? false;
    if (isRecording) refuseRecording('it reads an offloaded weight');
    residency.enter(this, !isRecording);
    besideTape(() => {
      try {
        this.#fill();
      } catch (error) {
        residency.leave(this);
        throw error;
      }
    });
  }

  #fill(): void {
    const values = this.#read();
    this.#deferred.fill(values);
    values.dispose();
  }

  #read(): Tensor {
    const target = this.surroundings.kernels.state.allocate(this.#dtype, this.#shape);
    try {
      this.place.read(target.bytes);
    } catch (error) {
      target.dispose();
      throw error;
    }
    return target.toTensor();
  }
}
