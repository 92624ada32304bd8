/** A file that is open. */
export interface OpenFile {
  readonly bytes: number;
  /** Appends all bytes, or none if it fails. */
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
  /** Writes a file. If that fails, there is none. */
  write(path: string, content: string | Uint8Array): void;
  /**
   * Replaces the content of a file, and returns when it is on the disk (not in a page). Readers see
   * the old or the new content. If the disk has no room for both, the new content is written over
   * the old one.
   */
  replace(path: string, content: string): void;
  /** Replaces `to`. */
  rename(from: string, to: string): void;
  /** Deletes a file. A missing one is no error. */
  remove(path: string): void;
  /** The content of a folder. A link is neither a file nor a folder. */
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
