import { AsyncLocalStorage, createHook } from 'node:async_hooks';

interface Handle {
  /** Absent on handles that never keep a process alive. */
  hasRef?(): boolean;
}

/** Tracks the handles that `body` opens: sockets, timers, watched files, child processes. */
export class OpenHandles {
  readonly #storage = new AsyncLocalStorage<OpenHandles>();
  readonly #open = new Map<number, { type: string; handle: Handle }>();

  /** Runs `body`, then `look`, while closed handles are still known. */
  async watch(body: () => Promise<void>, look: () => Promise<void>): Promise<void> {
    const hook = createHook({
      init: (id, type, _trigger, handle: Handle) => {
        if (this.#storage.getStore() === this) this.#open.set(id, { type, handle });
      },
      destroy: (id) => void this.#open.delete(id),
    }).enable();
    try {
      await this.#storage.run(this, body);
      await look();
    } finally {
      hook.disable();
    }
  }

  /** The types of the handles that now keep the process alive. */
  get types(): string[] {
    return [...this.#open.values()].filter(({ handle }) => handle.hasRef?.()).map(({ type }) => type);
  }
}
