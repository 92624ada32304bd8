import { mkdtempSync, readdirSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { ValueFile } from './value-file.js';

const folder = () => mkdtempSync(join(tmpdir(), 'acc-values-'));
const bytes = (...values: number[]) => Uint8Array.from(values);

it('keeps values in places of their own, and has no name in its folder', () => {
  const path = join(folder(), 'made', 'if missing');
  const file = new ValueFile(path);
  expect(readdirSync(path)).toEqual([]);
  const [a, b] = [file.reserve(3), file.reserve(2)];
  file.write(b, bytes(8, 9));
  file.write(a, bytes(1, 2, 3));
  file.write(b, bytes(7, 6));
  const read = (start: number, length: number) => {
    const into = new Uint8Array(length);
    file.read(start, into);
    return [...into];
  };
  expect(read(a, 3)).toEqual([1, 2, 3]);
  expect(read(b, 2)).toEqual([7, 6]);
  file.free(a, 3);
  expect([file.reserve(5), file.reserve(5)]).toEqual([a, 2 * 4096]);
  file.close();
});

it('reads and writes nothing after it is closed: the system gives its number to others', () => {
  const file = new ValueFile(folder());
  const at = file.reserve(1);
  file.close();
  const other = new ValueFile(folder());
  other.write(other.reserve(1), bytes(9));
  const closed = expect.objectContaining({ code: 'ACC_STORAGE_FAILED' }) as Error;
  expect(() => file.read(at, new Uint8Array(1))).toThrowError(closed);
  expect(() => file.write(at, bytes(1))).toThrowError(closed);
  file.close();
  const into = new Uint8Array(1);
  other.read(0, into);
  expect([...into]).toEqual([9]);
  other.close();
});

it('says what is wrong with a folder, and with a file that is too short', () => {
  const path = join(folder(), 'a file');
  writeFileSync(path, '');
  expect(() => new ValueFile(path)).toThrowError(expect.objectContaining({ code: 'ACC_STORAGE_DENIED' }));
  const file = new ValueFile(folder());
  expect(() => file.read(4096, new Uint8Array(1))).toThrowError(
    expect.objectContaining({ code: 'ACC_STORAGE_FAILED' }),
  );
  file.close();
});
