import { open, stat } from 'node:fs/promises';
import { asReadError, cannotRead, changed } from '../errors.js';
import type { Source, SourceState } from './source.js';

/** @throws AccError `ACC_DATA_NOT_FOUND`, `ACC_DATA_READ`. */
export async function lookAtFile(path: string): Promise<SourceState> {
  try {
    const stats = await stat(path);
    if (stats.isDirectory()) {
      throw cannotRead(path, 'it is a folder', { help: `Give the files in it, for example '${path}/*'.` });
    }
    if (!stats.isFile()) {
      throw cannotRead(path, 'it is no file but a pipe, a socket or a device', {
        help: 'Write its content into a file, because samples are found by their places.',
      });
    }
    return { location: path, bytes: stats.size, tag: String(stats.mtimeMs) };
  } catch (error) {
    throw asReadError(path, error);
  }
}

/** A file of this machine. It is open only while it is read, so that there may be any number of files. */
export function fileSource(state: SourceState): Source {
  const { location: name, bytes, tag } = state;
  return { name, bytes, tag, state, read: (start, end) => readRange(name, start, end) };
}

async function readRange(path: string, start: number, end: number): Promise<Uint8Array> {
  try {
    const into = new Uint8Array(end - start);
    await using file = await openFile(path);
    for (let done = 0; done < into.length;) {
      const { bytesRead } = await file.handle.read(into, done, into.length - done, start + done);
      if (bytesRead === 0) throw changed(path, `it ends at byte ${start + done}, before byte ${end}`);
      done += bytesRead;
    }
    return into;
  } catch (error) {
    throw asReadError(path, error);
  }
}

async function openFile(path: string) {
  const handle = await open(path, 'r');
  return { handle, [Symbol.asyncDispose]: () => handle.close() };
}
