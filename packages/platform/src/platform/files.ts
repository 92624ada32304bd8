import {
  closeSync,
  existsSync,
  fstatSync,
  fsyncSync,
  ftruncateSync,
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
import { makeFolder } from './make-folder.js';

/** The unit of `stat.blocks` (POSIX). */
const BLOCK_BYTES = 512;

export const files: Files = {
  exists: existsSync,
  makeFolder,
  readText: (path) => readFileSync(path, 'utf8'),
  write: (path, content) => writeWhole(path, content, false),
  replace(path, content) {
    const draft = `${path}.${process.pid}.tmp`;
    try {
      writeWhole(draft, content, true);
      renameSync(draft, path);
    } catch (error) {
      rmSync(draft, { force: true });
      if (!isFull(error) || !writeOver(path, Buffer.from(content))) throw error;
    }
  },
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
      write: (bytes) => append(file, bytes),
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

function writeWhole(path: string, content: string | Uint8Array, isFlushed: boolean): void {
  const file = openSync(path, 'w');
  const isPlain = fstatSync(file).isFile();
  try {
    writeFileSync(file, content);
    if (isFlushed) fsyncSync(file);
  } catch (error) {
    if (isPlain) rmSync(path, { force: true });
    throw error;
  } finally {
    closeSync(file);
  }
}

/** A partial line would be read as one with the next line. */
function append(file: number, bytes: Uint8Array): void {
  const before = fstatSync(file).size;
  try {
    for (let done = 0; done < bytes.length;) done += writeSync(file, bytes, done);
  } catch (error) {
    // A pipe cannot be shortened.
    if (fstatSync(file).size > before) ftruncateSync(file, before);
    throw error;
  }
}

/**
 * Writes over a file, if the blocks that it has on the disk hold the content. Returns whether it
 * was written.
 */
function writeOver(path: string, content: Uint8Array): boolean {
  if (!existsSync(path)) return false;
  const file = openSync(path, 'r+');
  try {
    const { size, blocks } = fstatSync(file);
    if (content.length > Math.max(size, blocks * BLOCK_BYTES)) return false;
    writeSync(file, content, 0, content.length, 0);
    ftruncateSync(file, content.length);
    fsyncSync(file);
    return true;
  } finally {
    closeSync(file);
  }
}

function isFull(error: unknown): boolean {
  return ['ENOSPC', 'EDQUOT'].includes((error as NodeJS.ErrnoException).code ?? '');
}

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
