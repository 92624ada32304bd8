import { constants } from 'node:fs';
import { open } from 'node:fs/promises';

/**
 * The constant is missing in the types of Node. Its memory begins with a page, as direct writes
 * need it.
 */
declare const WebAssembly: {
  readonly Memory: new (pages: { initial: number }) => { readonly buffer: ArrayBuffer };
};

const CHUNK_BYTES = 16 * 1024 * 1024;
const CHUNK = new Uint8Array(new WebAssembly.Memory({ initial: CHUNK_BYTES / 65_536 }).buffer);
for (let i = 0; i < CHUNK_BYTES; i++) CHUNK[i] = (i * 2654435761) >>> 24;

/** Writes bytes with the simplest program, one chunk after another, and syncs them. */
export async function writeRaw(path: string, bytes: number): Promise<void> {
  const file = await open(path, 'w');
  for (let left = bytes; left > 0; left -= CHUNK_BYTES) {
    await file.write(CHUNK, 0, Math.min(left, CHUNK_BYTES));
  }
  await file.sync();
  await file.close();
}

/**
 * Writes as many bytes, rounded up to whole chunks, without the system's cache and with three
 * chunks at a time. This is about the speed of the disk.
 */
export async function writeDirect(path: string, bytes: number): Promise<void> {
  const file = await open(
    path,
    constants.O_WRONLY | constants.O_CREAT | constants.O_TRUNC | constants.O_DIRECT,
  );
  let next = 0;
  const work = async (): Promise<void> => {
    while (next < bytes) await file.write(CHUNK, 0, CHUNK_BYTES, (next += CHUNK_BYTES) - CHUNK_BYTES);
  };
  await Promise.all([work(), work(), work()]);
  await file.sync();
  await file.close();
}
