import { addon, type DoorReport } from './addon.js';
import { converted, guarded } from './errors.js';

export interface StoreOptions {
  readonly host: string;
  readonly port: number;
  /** Whether this process hosts the store. Exactly one process of a job does. */
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

  /**
   * The text under `key`, or undefined. Does not wait. @throws AccError `ACC_RENDEZVOUS_FAILED` if
   * rank 0 is gone.
   */
  find(key: string): string | undefined {
    return guarded(() => addon().storeFind(this.#id, key));
  }

  /** Sets `key` to the text `value` unless it already has a text. Returns the text of the key. */
  agree(key: string, value: string): string {
    return guarded(() => addon().storeAgree(this.#id, key, value));
  }

  /**
   * Refuses further connections, on the process that hosts the store. Call it when every rank has
   * connected. It works on Linux only; on other systems the port stays open.
   *
   * Until then, connections that send nothing, more than a rank, or that are too many are ended: a value
   * of more than about 64 KiB, too.
   *
   * @returns The number of connections that were ended, and whether newcomers were refused.
   */
  closeDoor(): DoorReport {
    return addon().closeStoreDoor(this.#id);
  }

  close(): void {
    addon().closeStore(this.#id);
  }
}
