import { tidy, type Tensor } from '@tensorflow/tfjs-core';
import type { DeferredTensor } from '@acc/contract';
import { cannotDefer, FLOAT_BYTES, type StoredGradient as Stored } from '@acc/placement';
import { besideTape } from '@acc/tfjs-internals';
import { useArrived, type FileValues, type ValueFile } from './value-file.js';
import type { Transfer } from './value-places.js';

/**
 * Gradients of this rank's elements that lie in the file from the time that they are complete to
 * their use (Rajbhandari et al., "ZeRO-Infinity: Breaking the GPU Memory Wall for Extreme Scale Deep
 * Learning", SC 2021). A tensor that stands for one reads it when an operator asks for its values.
 */
export class GradientStore {
  readonly #live = new Set<StoredGradient>();
  readonly #handles = new WeakMap<object, GradientHandle>();

  constructor(private readonly file: ValueFile) {}

  /**
   * Starts to write gradients `[n]`, which are disposed, also after an error. Returns tensors that
   * stand for them.
   */
  put(grads: readonly Tensor[]): Tensor[] {
    const filled = grads.filter(({ size }) => size > 0);
    if (filled.length === 0) return [...grads];
    const offsets = filled.map(({ size }) => this.file.reserve(size * FLOAT_BYTES));
    const writing = this.#startWrite(grads, filled, offsets);
    let at = 0;
    return grads.map((grad) => {
      if (grad.size === 0) return grad;
      const stored = new StoredGradient(offsets[at++]!, grad.size, writing);
      this.#live.add(stored);
      grad.dispose();
      return this.tensorOf(stored);
    });
  }

  #startWrite(grads: readonly Tensor[], filled: readonly Tensor[], offsets: readonly number[]): Transfer {
    try {
      return this.file.startWrite(filled, offsets);
    } catch (error) {
      filled.forEach(({ size }, i) => this.file.free(offsets[i]!, size * FLOAT_BYTES));
      for (const grad of grads) grad.dispose();
      throw error;
    }
  }

  /** Undefined for a gradient that is in memory. */
  handleOf({ dataId }: Tensor): GradientHandle | undefined {
    return this.#handles.get(dataId);
  }

  /** A tensor that stands for the gradient. The caller disposes it. */
  tensorOf(stored: StoredGradient): Tensor {
    const { defer, backendName } = this.file.kernels;
    if (!defer) throw cannotDefer(backendName);
    const deferred = defer({ shape: [stored.length], dtype: 'float32' }, () => {
      besideTape(() => tidy(() => deferred.fill(this.file.read(handle))));
    });
    const handle = new GradientHandle(stored, deferred);
    stored.addUser(deferred);
    this.#handles.set(deferred.tensor.dataId, handle);
    return deferred.tensor;
  }

  /**
   * Calls `fn` with each gradient, in order, while it is in memory. The next one is read meanwhile.
   */
  forEach(grads: readonly Tensor[], fn: (grad: Tensor, place: number) => void): void {
    const start = (grad: Tensor | undefined) => {
      const handle = grad && this.handleOf(grad);
      return handle?.isAway ? this.file.startRead([handle]) : undefined;
    };
    let next = start(grads[0]);
    try {
      grads.forEach((grad, place) => {
        const fetch = next;
        next = undefined;
        const handle = this.handleOf(grad);
        if (fetch) useArrived(fetch.wait(), (stored, values) => stored.fill(values));
        next = start(grads[place + 1]);
        fn(grad, place);
        if (fetch) handle!.release();
      });
    } finally {
      next?.drop();
    }
  }

  /** Changes gradients, one at a time. Both dispose the tensors of their list. */
  change(grads: readonly Tensor[], change: (list: Tensor[]) => Tensor[]): Tensor[] {
    const changed: Tensor[] = [];
    this.forEach(grads, (grad) => {
      const isStored = this.handleOf(grad) !== undefined;
      const results = change([grad]);
      changed.push(...(isStored ? this.put(results) : results));
    });
    return changed;
  }

  /** Gives back the places of gradients that nothing uses any more. */
  sweep(): void {
    for (const stored of this.#live) {
      if (stored.isUsed) continue;
      this.#live.delete(stored);
      try {
        stored.writing.wait();
      } catch {
        // The write failed, which the next write or a read has reported. Nobody needs the values.
      }
      this.file.free(stored.offset, stored.length * FLOAT_BYTES);
    }
  }
}

/** A gradient in the file. */
export class StoredGradient implements Stored {
  #users: DeferredTensor[] = [];

  constructor(
    readonly offset: number,
    /** The number of elements. */
    readonly length: number,
    readonly writing: Transfer,
  ) {}

  /** Keeps the place while the tensor is not disposed. */
  addUser(user: DeferredTensor): void {
    this.#users = [...this.#users.filter(({ holders }) => holders > 0), user];
  }

  get isUsed(): boolean {
    return this.#users.some(({ holders }) => holders > 0);
  }
}

/** A tensor that stands for a gradient in the file. */
export class GradientHandle implements FileValues {
  readonly dtype = 'float32';

  constructor(
    readonly stored: StoredGradient,
    private readonly deferred: DeferredTensor,
  ) {}

  get shape(): readonly number[] {
    return [this.stored.length];
  }

  get offset(): number {
    return this.stored.offset;
  }

  get writing(): Transfer {
    return this.stored.writing;
  }

  get isAway(): boolean {
    return !this.deferred.isFilled;
  }

  /** Gives the tensor its values, which keep their owner. */
  fill(values: Tensor): void {
    this.deferred.fill(values);
  }

  /** Frees the values. */
  release(): void {
    if (this.deferred.holders > 0) this.deferred.release();
  }
}
