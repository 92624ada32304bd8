import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { asDiskError, asReadError, makeCacheFolder, requireFreeSpace } from './disk.js';
import { temporaryFolder, writeFiles } from './test-support.js';

describe('a disk', () => {
  it('that is full gives ACC_DISK_FULL', () => {
    let full: unknown;
    try {
      writeFileSync('/dev/full', 'x');
    } catch (error) {
      full = asDiskError(error, '/cache');
    }
    expect(full).toMatchObject({ code: 'ACC_DISK_FULL' });
  });

  it('with too little space is refused in advance', async () => {
    using folder = temporaryFolder();
    await expect(requireFreeSpace(folder.path, 1)).resolves.toBeUndefined();
    await expect(requireFreeSpace(folder.path, 2 ** 60)).rejects.toMatchObject({ code: 'ACC_DISK_FULL' });
  });

  it('with a file in the place of the cache gives ACC_CACHE_NOT_WRITABLE', () => {
    using folder = temporaryFolder();
    writeFiles(folder.path, { cache: '' });
    expect(() => makeCacheFolder(join(folder.path, 'cache', 'libtorch'))).toThrow(
      expect.objectContaining({ code: 'ACC_CACHE_NOT_WRITABLE' }),
    );
  });

  it('of which the cache cannot be read gives ACC_CACHE_NOT_READABLE', () => {
    const denied = Object.assign(new Error('denied'), { code: 'EACCES' });
    expect(asReadError(denied, '/cache')).toMatchObject({ code: 'ACC_CACHE_NOT_READABLE', cause: denied });
  });

  it('returns other errors unchanged', () => {
    const error = new Error('else');
    expect(asDiskError(error, '/cache')).toBe(error);
    expect(asReadError(error, '/cache')).toBe(error);
  });
});
