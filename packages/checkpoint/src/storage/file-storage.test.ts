import { mkdtemp, readdir, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { storageCases } from '@acc/testkit';
import { fileStorage } from './file-storage.js';

let folder: string;
beforeEach(async () => void (folder = await mkdtemp(join(tmpdir(), 'acc-files-'))));
afterEach(() => rm(folder, { recursive: true }));

const error = (code: string): Error => expect.objectContaining({ code }) as Error;

describe('files', () => {
  it.each(storageCases)('$name', ({ run }) => run(fileStorage(join(folder, 'not', 'there', 'yet'))));

  it('leave no empty folder behind', async () => {
    const storage = fileStorage(folder);
    await storage.put('a/b', new Uint8Array(1));
    await storage.delete(['a/b']);
    expect(await readdir(folder)).toEqual([]);
  });

  it('are written while others that were alone in their folder are deleted', async () => {
    const storage = fileStorage(folder);
    for (let round = 0; round < 100; round++) {
      const deletes = Array.from({ length: 8 }, (_, i) => storage.delete([`a/b${i}`]));
      await Promise.all([storage.put('a/c', new Uint8Array([round])), ...deletes]);
      expect([...(await storage.get('a/c'))]).toEqual([round]);
      await storage.delete(['a/c']);
    }
  });

  it('cannot be outside their folder', async () => {
    const storage = fileStorage(folder);
    for (const key of ['../x', '/etc/passwd', 'a/../../x', '']) {
      await expect(storage.get(key)).rejects.toThrowError(error('ACC_STORAGE_DENIED'));
    }
  });

  it('may be in the root of the file system', async () => {
    const key = join(folder.slice(1), 'a');
    await fileStorage('/').put(key, new Uint8Array([1, 2]));
    expect([...(await fileStorage(folder).get('a'))]).toEqual([1, 2]);
  });

  it('report a full disk and leave nothing behind', async () => {
    await symlink('/dev/full', join(folder, 'x.unfinished'));
    const storage = fileStorage(folder);
    await expect(storage.put('x', new Uint8Array(1))).rejects.toThrowError(error('ACC_STORAGE_FULL'));
    expect(await readdir(folder)).toEqual([]);
  });

  it('report why a place cannot be written to', async () => {
    await writeFile(join(folder, 'file'), '');
    const under = fileStorage(join(folder, 'file', 'below'));
    await expect(under.put('x', new Uint8Array(1))).rejects.toThrowError(error('ACC_STORAGE_NOT_FOUND'));
    const kernels = fileStorage('/sys/acc-checkpoints');
    await expect(kernels.put('x', new Uint8Array(1))).rejects.toThrowError(error('ACC_STORAGE_DENIED'));
  });
});
