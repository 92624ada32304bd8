import { dirname, files, type OpenFile } from '@acc/platform';

/** A file to which text is appended. */
export class AppendFile {
  readonly path: string;
  #file: OpenFile | undefined;

  constructor(path: string) {
    this.path = path;
    files.makeFolder(dirname(path));
    this.#file = files.open(path);
  }

  write(text: string): void {
    this.#file!.write(new TextEncoder().encode(text));
  }

  close(): void {
    this.#file?.close();
    this.#file = undefined;
  }
}
