import { AsyncLocalStorage, createHook } from 'node:async_hooks';

interface Handle {
  /** Absent from what never keeps a process alive. */
  hasRef?(): boolean;
}

/** What `body` opens: sockets, timers, files that are watched, child processes. */
export class OpenHandles {
  readonly #storage = new AsyncLocalStorage<OpenHandles>();
  readonly #open = new Map<number, { type: string; handle: Handle }>();

  /** Runs `body`, and afterwards `look`, while it is still known what was closed. */
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

  /** Types of what keeps the process alive now. */
  get types(): string[] {
    return [...this.#open.values()].filter(({ handle }) => handle.hasRef?.()).map(({ type }) => type);
  }
}
