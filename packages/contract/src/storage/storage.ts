/** The key and size of a stored object. */
export interface StoredObject {
  /** The key: names separated by slashes. */
  readonly key: string;
  readonly bytes: number;
}

export interface GetOptions {
  /** The first byte to read. Default 0. */
  readonly start?: number;
  /**
   * The destination, which is filled completely. Default: a new array with all bytes from `start`.
   */
  readonly into?: Uint8Array;
}

/**
 * Storage for checkpoints, with four verbs over keys. Examples are files in a folder and objects in
 * a bucket. Calls may run concurrently. They reject with an {@link AccError}:
 * `ACC_STORAGE_NOT_FOUND`, `ACC_STORAGE_FULL`, `ACC_STORAGE_DENIED`, `ACC_STORAGE_FAILED`.
 */
export interface Storage {
  /** The location for messages: the path of a folder, or an address. */
  readonly location: string;
  /**
   * Stores `content` under `key` and replaces an existing object. When the promise resolves, all of
   * it is stored durably. If it fails, nothing is changed. An array that `content` yields is not
   * read after the next one is requested, so its memory may be reused.
   */
  put(key: string, content: Uint8Array | AsyncIterable<Uint8Array>): Promise<void>;
  /**
   * Reads an object. Rejects with `ACC_STORAGE_NOT_FOUND` also if the object ends before `into` is
   * full.
   */
  get(key: string, options?: GetOptions): Promise<Uint8Array>;
  /**
   * Lists all objects whose keys begin with `prefix`, in any order. `prefix` is empty or ends with
   * a slash.
   */
  list(prefix: string): Promise<StoredObject[]>;
  /**
   * The path of a local file with exactly this object, which does not change while it is in use.
   * Undefined if there is none. The method is absent if there never is one; objects are then read
   * with `get`.
   */
  pathOf?(key: string): Promise<string | undefined>;
  /** Deletes objects. Missing keys are ignored. */
  delete(keys: readonly string[]): Promise<void>;
}
