import { addon } from './addon.js';
import { guarded } from './errors.js';

/** A running collective of a `ProcessGroup`. Its tensors stay alive until it ends. */
export class Work {
  #id: number;

  /** @internal */
  constructor(id: number) {
    this.#id = id;
  }

  get isDone(): boolean {
    return this.#id === 0 || addon().isWorkDone(this.#id);
  }

  /**
   * Blocks until the collective has ended.
   *
   * @throws AccError, see `ProcessGroup`.
   */
  wait(): void {
    if (this.#id === 0) return;
    const id = this.#id;
    this.#id = 0;
    guarded(() => addon().waitWork(id));
  }
}
