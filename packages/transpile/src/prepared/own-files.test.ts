import {
  chmodSync,
  chownSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { makeOwnFolder, readOwn, sha256Of, writeOwn } from './own-files.js';

let folder: string;
beforeEach(() => (folder = mkdtempSync(join(tmpdir(), 'acc-own-files-'))));
afterEach(() => rmSync(folder, { recursive: true }));

const expected = { bytes: 4, sha256: sha256Of('code') };
const NOBODY = 65_534;

/** A file and a folder of another user. */
function foreign(): { file: string; directory: string } {
  // Only root can give files away. For other users, root is another one.
  if (process.getuid!() !== 0) return { file: '/etc/passwd', directory: '/usr' };
  const paths = { file: join(folder, 'file'), directory: join(folder, 'directory') };
  writeFileSync(paths.file, 'code', { mode: 0o600 });
  mkdirSync(paths.directory, { mode: 0o700 });
  for (const path of Object.values(paths)) chownSync(path, NOBODY, NOBODY);
  return paths;
}

describe('a file of this user', () => {
  it('is read if it has the expected content', () => {
    const path = join(folder, 'a');
    expect(readOwn(path)).toBeUndefined();
    expect(writeOwn(path, 'code')).toBe(true);
    expect(readOwn(path, expected)?.toString()).toBe('code');
    expect(readOwn(path, { ...expected, bytes: 5 })).toBeUndefined();
    expect(writeOwn(path, 'cade')).toBe(true);
    expect(readOwn(path, expected)).toBeUndefined();
    expect(readOwn(path)?.toString()).toBe('cade');
    expect(readdirSync(folder)).toEqual(['a']);
  });

  it.each([0o620, 0o602, 0o666])('is not read if others can write it: mode %o', (mode) => {
    const path = join(folder, 'a');
    writeOwn(path, 'code');
    chmodSync(path, mode);
    expect(readOwn(path, expected)).toBeUndefined();
  });

  it('is no link and no folder', () => {
    writeOwn(join(folder, 'a'), 'code');
    symlinkSync('a', join(folder, 'link'));
    expect(readOwn(join(folder, 'link'))).toBeUndefined();
    expect(readOwn(folder)).toBeUndefined();
  });

  it('is not that of another user', () => {
    const { file } = foreign();
    expect(statSync(file).uid).not.toBe(process.getuid!());
    expect(readOwn(file)).toBeUndefined();
  });

  it('is not written into a folder that is missing', () => {
    expect(writeOwn(join(folder, 'missing', 'a'), 'code')).toBe(false);
  });
});

describe('a folder of this user', () => {
  it('is made for this user alone', () => {
    const path = join(folder, 'a', 'b');
    expect([makeOwnFolder(path), makeOwnFolder(path)]).toEqual([true, true]);
    expect(lstatSync(path).mode & 0o777).toBe(0o700);
  });

  it('is not one that others can write to, that another user has, or that is a link or a file', () => {
    const open = join(folder, 'open');
    mkdirSync(open);
    chmodSync(open, 0o770);
    symlinkSync(folder, join(folder, 'link'));
    writeFileSync(join(folder, 'a'), '');
    const others = [open, join(folder, 'link'), join(folder, 'a'), foreign().directory];
    expect(others.map(makeOwnFolder)).toEqual([false, false, false, false]);
  });
});
