import { addon } from './addon.js';
import { isTransferred, noteBuffer } from './buffers-of-memory.js';
import { guarded } from './errors.js';
import { requireAlive, type Tensor } from './tensor.js';

/** Direct access to the memory of a row-major tensor on the CPU. */
export class TensorMemory implements Disposable {
  readonly #holder: Tensor;
  readonly #bytes: Uint8Array<ArrayBuffer>;

  /**
   * @param tensor The caller still owns it. Its memory lives at least as long as this object.
   * @throws AccError `ACC_INVALID_ARGUMENT` for a tensor that is not contiguous or is on another
   * device, `ACC_TENSOR_DISPOSED`.
   */
  constructor(tensor: Tensor) {
    this.#holder = requireAlive(tensor).alias();
    try {
      this.#bytes = new Uint8Array(guarded(() => addon().tensorMemory(this.#holder.id)));
      noteBuffer(this.#bytes.buffer);
    } catch (error) {
      this.#holder.dispose();
      throw error;
    }
  }

  /**
   * The bytes of the tensor. Writing to them changes the tensor and all tensors that share its
   * memory. Its length is 0 after `dispose`.
   */
  get bytes(): Uint8Array {
    return this.#bytes;
  }

  dispose(): void {
    if (this.#holder.isDisposed || isTransferred(this.#bytes.buffer, this.#holder)) return;
    addon().detachMemory(this.#bytes.buffer);
    this.#holder.dispose();
  }

  [Symbol.dispose](): void {
    this.dispose();
  }
}
