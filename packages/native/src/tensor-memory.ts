import { addon } from './addon.js';
import { guarded } from './errors.js';
import { requireAlive, type Tensor } from './tensor.js';

/** The elements of a row-major tensor in the host's memory, as they lie there. */
export class TensorMemory implements Disposable {
  readonly #holder: Tensor;
  readonly #bytes: Uint8Array<ArrayBuffer>;

  /**
   * @param tensor Stays the caller's; its memory stays at least as long as this object.
   * @throws AccError `ACC_INVALID_ARGUMENT` for a tensor with gaps or on another device, `ACC_TENSOR_DISPOSED`.
   */
  constructor(tensor: Tensor) {
    this.#holder = requireAlive(tensor).alias();
    try {
      this.#bytes = new Uint8Array(guarded(() => addon().tensorMemory(this.#holder.id)));
    } catch (error) {
      this.#holder.dispose();
      throw error;
    }
  }

  /** Without length after `dispose`. What is written into it is written into the tensor, and into whatever shares its memory. */
  get bytes(): Uint8Array {
    return this.#bytes;
  }

  dispose(): void {
    if (this.#holder.isDisposed) return;
    addon().detachMemory(this.#bytes.buffer);
    this.#holder.dispose();
  }

  [Symbol.dispose](): void {
    this.dispose();
  }
}
