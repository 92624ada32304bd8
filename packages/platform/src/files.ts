/** A file that is open. */
export interface OpenFile {
  readonly bytes: number;
  /** Appends bytes. */
  write(bytes: Uint8Array): void;
  /** Fills `into` from a position, and returns the number of bytes: less at the end of the file. */
  read(into: Uint8Array, from: number): number;
  close(): void;
}

/**
 * Files, synchronously. Errors have the system's codes, `ENOENT` for what is missing.
 *
 * In a page the files are those of its origin (OPFS). The browser has no synchronous files there, so
 * changes take effect in memory at once, and are written after each other in the background.
 */
export interface Files {
  exists(path: string): boolean;
  /** Makes a folder and those around it. */
  makeFolder(path: string): void;
  readText(path: string): string;
  /** @param options `flush`: the content is on the disk when the call returns. Not in a page. */
  write(path: string, content: string | Uint8Array, options?: { readonly flush?: boolean }): void;
  /** Replaces `to`. */
  rename(from: string, to: string): void;
  /** Deletes a file. A missing one is no error. */
  remove(path: string): void;
  /** What is in a folder. A link is neither a file nor a folder. */
  list(
    path: string,
  ): readonly { readonly name: string; readonly isFile: boolean; readonly isFolder: boolean }[];
  /** Undefined if there is nothing at the path. */
  look(path: string): { readonly bytes: number; readonly isFolder: boolean } | undefined;
  /**
   * Opens a file to append to it, and makes it if it is missing.
   *
   * @param isRead Default true. False: the file is only appended to, so a page keeps in memory only what
   * is not stored yet.
   */
  open(path: string, isRead?: boolean): OpenFile;
}
