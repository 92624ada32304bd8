import { addon } from './addon.js';
import { converted, guarded } from './errors.js';

export interface StoreOptions {
  readonly host: string;
  readonly port: number;
  /** Whether this process keeps the store; exactly one of a job does. */
  readonly isServer: boolean;
  readonly worldSize: number;
  readonly timeoutMs: number;
}

/** The job's key-value store (c10d's TCPStore). */
export class Store {
  readonly #id: number;

  private constructor(id: number) {
    this.#id = id;
  }

  /** @throws AccError `ACC_PORT_TAKEN`, `ACC_RENDEZVOUS_FAILED`. */
  static async connect(options: StoreOptions): Promise<Store> {
    const { host, port, isServer, worldSize, timeoutMs } = options;
    return new Store(await converted(addon().connectStore(host, port, isServer, worldSize, timeoutMs)));
  }

  /** @internal */
  get id(): number {
    return this.#id;
  }

  /** The text under `key`, if somebody has given one. Does not wait. @throws AccError `ACC_RENDEZVOUS_FAILED` where rank 0 is gone. */
  find(key: string): string | undefined {
    return guarded(() => addon().storeFind(this.#id, key));
  }

  /** Gives `key` the text `value`, unless it has one already. Returns the one that it has. */
  agree(key: string, value: string): string {
    return guarded(() => addon().storeAgree(this.#id, key, value));
  }

  /**
   * Lets nobody connect any more, on the process that keeps the store; to be called when every rank has. On Linux; elsewhere
   * the port stays open.
   */
  closeDoor(): void {
    addon().closeStoreDoor(this.#id);
  }

  close(): void {
    addon().closeStore(this.#id);
  }
}
