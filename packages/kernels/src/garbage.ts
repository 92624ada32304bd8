import { adjustExternalMemory } from '@acc/native';
import type { NativeHandles, TensorData } from './tensor-data.js';

/** New data is looked at again after this many more have come, */
const NURSERY_SIZE = 1024;
/** or after these have come with so many elements together: 64 MiB of float32. */
const NURSERY_ELEMENTS = 2 ** 24;

/**
 * The net under tensors that are dropped without `dispose`: their native memory goes when JavaScript's garbage collector
 * finds them, and V8 is told of the bytes so that it keeps pace. Nearly all tensors of a training loop are disposed
 * within microseconds, so new ones wait in a nursery, and only those still alive when it is full are registered.
 */
export class Garbage {
  #nursery: TensorData[] = [];
  #nurseryElements = 0;
  readonly #registry = new FinalizationRegistry<NativeHandles>(({ native, reshaped }) => {
    adjustExternalMemory(-native.byteLength);
    native.dispose();
    for (const tensor of reshaped) tensor.dispose();
    this.onCollected();
  });

  /** @param onCollected Called for each tensor that the collector, not the program, has freed. */
  constructor(private readonly onCollected: () => void) {}

  add(data: TensorData): void {
    this.#nursery.push(data);
    if (data.native) this.#nurseryElements += elementCount(data.native.shape);
    if (this.#nursery.length >= NURSERY_SIZE || this.#nurseryElements >= NURSERY_ELEMENTS) {
      this.#watchSurvivors();
    }
  }

  /** To be called before watched data is disposed by the program. */
  forget(data: TensorData): void {
    if (!data.watched || !data.native) return;
    this.#registry.unregister(data);
    adjustExternalMemory(-data.native.byteLength);
    data.watched = false;
  }

  #watchSurvivors(): void {
    let bytes = 0;
    for (const data of this.#nursery) {
      if (!data.native || data.native.isDisposed) continue;
      data.watched = true;
      bytes += data.native.byteLength;
      this.#registry.register(data, data.handles(data.native), data);
    }
    this.#nursery = [];
    this.#nurseryElements = 0;
    if (bytes > 0) adjustExternalMemory(bytes);
  }
}

function elementCount(shape: readonly number[]): number {
  let count = 1;
  for (const size of shape) count *= size;
  return count;
}
