import { describe, expect, it } from 'vitest';
import { badFormat, damaged } from '../testing/damaged-files.js';
import { TemporaryFolder } from '../testing/temporary-folder.js';
import { TAR_BLOCK } from './tar.js';
import { webdataset } from './webdataset.js';

/** A header of tar whose fields may be those of no valid one. Its checksum is right. */
function header(name: string, size: string | Uint8Array, type = '0'): Uint8Array {
  const block = Buffer.alloc(TAR_BLOCK);
  block.write(name, 0, 'latin1');
  block.set(Buffer.from(size), 124);
  block.write(' '.repeat(8), 148, 'latin1');
  block.write(`${type}ustar\0`, 156, 'latin1');
  block.write('ustar\x0000', 257, 'latin1');
  const sum = block.reduce((total, byte) => total + byte, 0);
  block.write(`${sum.toString(8).padStart(6, '0')}\0 `, 148, 'latin1');
  return block;
}

function member(name: string, content: string, type?: string): Uint8Array {
  const body = Buffer.alloc(Math.ceil(content.length / TAR_BLOCK) * TAR_BLOCK);
  body.write(content, 'latin1');
  const size = content.length.toString(8).padStart(11, '0');
  return Buffer.concat([header(name, size, type), body]);
}

describe('damaged tar files', () => {
  it.each([
    ['negative-header.tar', /header at byte 0 states no size/],
    ['negative-pax.tar', /header \(pax\) at byte 512 states no size/],
    ['tiny-pax-length.tar', /\(pax\) is damaged at byte 512/],
  ])('%s ends with its name and the place', async (name, place) => {
    await using folder = await TemporaryFolder.create();
    const opened = webdataset(damaged(name), { indexFolder: folder.join('index') });
    await expect(opened).rejects.toThrow(badFormat(damaged(name), place));
  });

  it.each([
    ['a negative binary size', header('s.txt', Buffer.alloc(12, 255)), /states no size/],
    [
      'a binary size above 2^53',
      header('s.txt', Buffer.of(128, 255, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0)),
      /no size/,
    ],
    ['a size with other digits', header('s.txt', '0000000009x'), /states no size/],
    ['a size beyond the file', header('s.txt', '00000001000'), /cut off/],
    ['a pax record behind its end', member('p', '99 path=x.txt\n', 'x'), /damaged at byte 512/],
    ['a pax record without a value', member('p', '7 path\n', 'x'), /damaged at byte 512/],
    ['a pax record of no length', member('p', '0 path=x.txt\n', 'x'), /damaged at byte 512/],
    ['a pax record without a space', member('p', 'path', 'x'), /damaged at byte 512/],
    ['a record of 2 MiB', member('p', 'x'.repeat(2 ** 21), 'L'), /the record at byte 0 has 2097152 bytes/],
  ])('with %s is refused', async (_, content, place) => {
    await using folder = await TemporaryFolder.create({ 'a.tar': content });
    const opened = webdataset(folder.join('a.tar'), { indexFolder: folder.join('index') });
    await expect(opened).rejects.toThrow(badFormat(folder.join('a.tar'), place));
  });

  it('keeps names that have an equals sign and more than ASCII', async () => {
    const record = (key: string, value: string) => {
      const rest = Buffer.byteLength(` ${key}=${value}\n`);
      const digits = String(rest + String(rest + 2).length).length;
      return `${rest + digits} ${key}=${value}\n`;
    };
    const pax = Buffer.from(`${record('mtime', '1')}${record('path', 'a=ü.txt')}`).toString('latin1');
    const content = Buffer.concat([member('p', pax, 'x'), member('s.txt', 'hello')]);
    await using folder = await TemporaryFolder.create({ 'a.tar': content });
    const dataset = await webdataset(folder.join('a.tar'), { indexFolder: folder.join('index') });
    expect(await dataset.get(0)).toEqual({ __key__: 'a=ü', txt: 'hello' });
  });

  it('refuses an array of NumPy whose shape is no shape', async () => {
    const head = "{'descr': '|u1', 'fortran_order': False, 'shape': (-1, -4), }\n";
    const npy = `\x93NUMPY\x01\x00${String.fromCharCode(head.length)}\0${head}abcd`;
    await using folder = await TemporaryFolder.create({ 'a.tar': member('s.npy', npy) });
    const dataset = await webdataset(folder.join('a.tar'), { indexFolder: folder.join('index') });
    await expect(dataset.get(0)).rejects.toThrow(
      badFormat(folder.join('a.tar'), /sample 0.*shape is \(-1, -4\)/),
    );
  });
});
