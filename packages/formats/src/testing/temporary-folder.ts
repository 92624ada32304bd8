import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** A folder for the files of one test. */
export class TemporaryFolder implements AsyncDisposable {
  private constructor(readonly path: string) {}

  static async create(files: Readonly<Record<string, string | Uint8Array>> = {}): Promise<TemporaryFolder> {
    const folder = new TemporaryFolder(await mkdtemp(join(tmpdir(), 'acc-formats-')));
    for (const [name, content] of Object.entries(files)) await writeFile(folder.join(name), content);
    return folder;
  }

  join(name: string): string {
    return join(this.path, name);
  }

  [Symbol.asyncDispose](): Promise<void> {
    return rm(this.path, { recursive: true });
  }
}
