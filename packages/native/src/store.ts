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

  set(key: string, value: Uint8Array): void {
    guarded(() => addon().storeSet(this.#id, key, value));
  }

  /** The value of `key`, waited for. @throws AccError `ACC_RENDEZVOUS_FAILED` after `timeoutMs`. */
  async get(key: string, timeoutMs: number): Promise<Uint8Array> {
    return new Uint8Array(await converted(addon().storeGet(this.#id, key, timeoutMs)));
  }

  /** The text under `key`, if somebody has given one. Does not wait. */
  find(key: string): string | undefined {
    return guarded(() => addon().storeFind(this.#id, key));
  }

  /** Gives `key` the text `value`, unless it has one already. Returns the one that it has. */
  agree(key: string, value: string): string {
    return guarded(() => addon().storeAgree(this.#id, key, value));
  }

  close(): void {
    addon().closeStore(this.#id);
  }
}
