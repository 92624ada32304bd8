import { mkdtemp, readFile, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { writeSynced } from './block-file.js';

const MIB = 1024 * 1024;

let folders: string[];
beforeAll(async () => {
  // One file system that accepts direct writes on most machines, and one that refuses them on some.
  folders = await Promise.all([tmpdir(), '/dev/shm'].map((root) => mkdtemp(join(root, 'acc-blocks-'))));
});
afterAll(() => Promise.all(folders.map((folder) => rm(folder, { recursive: true }))));

/**
 * Yields bytes whose values depend on their position in the file. All items reuse the same memory.
 */
async function* items(sizes: readonly number[]): AsyncGenerator<Uint8Array> {
  const memory = new Uint8Array(Math.max(0, ...sizes));
  let start = 0;
  for (const size of sizes) {
    await Promise.resolve();
    for (let i = 0; i < size; i++) memory[i] = (start + i) % 251;
    yield memory.subarray(0, size);
    start += size;
  }
}

it.each([
  ['nothing', []],
  ['less than a sector', [10]],
  ['a sector', [4096]],
  ['a block', [8 * MIB]],
  ['more than are under way at once, in odd pieces', [1, 17 * MIB + 7, 4096, 0, 11 * MIB, 4095]],
])('a file with %s has exactly the given bytes', async (_, sizes) => {
  for (const folder of folders) {
    const path = join(folder, 'file');
    await writeSynced(path, items(sizes));
    const total = sizes.reduce((sum, size) => sum + size, 0);
    expect((await stat(path)).size).toBe(total);
    const bytes = await readFile(path);
    expect(bytes.findIndex((byte, i) => byte !== i % 251)).toBe(-1);
  }
});

it('an error of the source is passed on after all writes have ended', async () => {
  async function* failing() {
    yield* items([9 * MIB]);
    throw new Error('no more');
  }
  await expect(writeSynced(join(folders[0]!, 'half'), failing())).rejects.toThrowError('no more');
});

it('a full disk is reported', async () => {
  await expect(writeSynced('/dev/full', items([40 * MIB]))).rejects.toThrowError(
    expect.objectContaining({ code: 'ENOSPC' }) as Error,
  );
});
