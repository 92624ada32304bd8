import {
  closeSync,
  existsSync,
  fstatSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  readSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import type { Files } from '../files.js';

export const files: Files = {
  exists: existsSync,
  makeFolder: (path) => void mkdirSync(path, { recursive: true }),
  readText: (path) => readFileSync(path, 'utf8'),
  write: (path, content, { flush = false } = {}) => writeFileSync(path, content, { flush }),
  rename: renameSync,
  remove: (path) => rmSync(path, { force: true }),
  list: (path) =>
    readdirSync(path, { withFileTypes: true }).map((entry) => ({
      name: entry.name,
      isFile: entry.isFile(),
      isFolder: entry.isDirectory(),
    })),
  look(path) {
    const stats = statSync(path, { throwIfNoEntry: false });
    return stats && { bytes: stats.size, isFolder: stats.isDirectory() };
  },
  open(path) {
    const file = openSync(path, 'a+');
    return {
      get bytes() {
        return fstatSync(file).size;
      },
      write(bytes) {
        for (let done = 0; done < bytes.length;) done += writeSync(file, bytes, done);
      },
      read(into, from) {
        let done = 0;
        while (done < into.length) {
          const count = readSync(file, into, done, into.length - done, from + done);
          if (count === 0) break;
          done += count;
        }
        return done;
      },
      close: () => closeSync(file),
    };
  },
};

/**
 * Makes the files below a folder known to {@link files}. Nothing to do where files are synchronous.
 *
 * @param isRead Which files will be read.
 */
export function openFolder(_path: string, _isRead: (path: string) => boolean): Promise<void> {
  return Promise.resolve();
}

/**
 * Makes a file known to {@link files} that was written by other means. Nothing to do where files are
 * synchronous.
 *
 * @param _bytes Undefined: the file is gone.
 */
export function noteFile(_path: string, _bytes: number | undefined): void {}

/** Resolves when all changes so far are on the disk. Nothing to do where files are synchronous. */
export function settleFiles(): Promise<void> {
  return Promise.resolve();
}
