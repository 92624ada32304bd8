import { closeSync, mkdirSync, openSync, writeSync } from 'node:fs';
import { dirname } from 'node:path';

/** A file to which text is appended. */
export class AppendFile {
  readonly path: string;
  #file: number | undefined;

  constructor(path: string) {
    this.path = path;
    mkdirSync(dirname(path), { recursive: true });
    this.#file = openSync(path, 'a');
  }

  write(text: string): void {
    const bytes = Buffer.from(text);
    for (let done = 0; done < bytes.length;) done += writeSync(this.#file!, bytes, done);
  }

  close(): void {
    if (this.#file !== undefined) closeSync(this.#file);
    this.#file = undefined;
  }
}
