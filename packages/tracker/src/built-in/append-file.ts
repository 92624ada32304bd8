import { dirname, files, type OpenFile } from '@acc/platform';

/** A file to which text is appended. */
export class AppendFile {
  readonly path: string;
  #file: OpenFile | undefined;

  /** @param isRead Whether the file is also read. */
  constructor(path: string, isRead: boolean) {
    this.path = path;
    files.makeFolder(dirname(path));
    this.#file = files.open(path, isRead);
  }

  write(text: string): void {
    this.#file!.write(new TextEncoder().encode(text));
  }

  close(): void {
    this.#file?.close();
    this.#file = undefined;
  }
}
