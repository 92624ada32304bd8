/** Something stored. */
export interface StoredObject {
  /** Its key: names with slashes between them. */
  readonly key: string;
  readonly bytes: number;
}

export interface GetOptions {
  /** The first byte to read; default 0. */
  readonly start?: number;
  /** Where it is put; filled to its end. Default: a new array with all that follows `start`. */
  readonly into?: Uint8Array;
}

/**
 * Where checkpoints lie, as four verbs over keys: files below a folder, objects of a bucket. All may be called at the same time.
 * They reject with an {@link AccError}: `ACC_STORAGE_NOT_FOUND`, `ACC_STORAGE_FULL`, `ACC_STORAGE_DENIED`, `ACC_STORAGE_FAILED`.
 */
export interface Storage {
  /** For messages: a folder's path, an address. */
  readonly location: string;
  /**
   * Stores `content` under `key`, in place of what is there: all of it, durably, before the promise resolves, or nothing. An
   * array that `content` yields is not read any more when the next is asked for.
   */
  put(key: string, content: Uint8Array | AsyncIterable<Uint8Array>): Promise<void>;
  /** Rejects with `ACC_STORAGE_NOT_FOUND` also where it ends before `into` is full. */
  get(key: string, options?: GetOptions): Promise<Uint8Array>;
  /** All whose keys begin with `prefix`, which is empty or ends with a slash; in no order. */
  list(prefix: string): Promise<StoredObject[]>;
  /**
   * A file on this machine's disks that holds just this, and is never changed while it is in use. Undefined where there is none; absent
   * where there never is: all is read by `get`.
   */
  pathOf?(key: string): Promise<string | undefined>;
  /** Keys that there aren't are none to delete. */
  delete(keys: readonly string[]): Promise<void>;
}
