import { readFile, writeFile } from 'node:fs/promises';
import { gzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { TemporaryFolder } from '../testing/temporary-folder.js';
import { crc32c, maskedCrc32c } from './crc32c.js';
import { tfrecordDataset } from './tfrecord-dataset.js';

const error = (code: string): Error => expect.objectContaining({ code }) as Error;

/** Values from RFC 3720, appendix B.4. */
it('computes CRC-32C', () => {
  const bytes = (make: (i: number) => number) => Uint8Array.from({ length: 32 }, (_, i) => make(i));
  expect(crc32c(bytes(() => 0))).toBe(0x8a9136aa);
  expect(crc32c(bytes(() => 255))).toBe(0x62a8ab43);
  expect(crc32c(bytes((i) => i))).toBe(0x46dd794e);
  expect(crc32c(Buffer.from('123456789'))).toBe(0xe3069283);
});

/** A field of the wire type `bytes`. The content has less than 128 bytes. */
const field = (number: number, content: readonly number[]) => [number * 8 + 2, content.length, ...content];
const text = (value: string) => [...Buffer.from(value)];
const feature = (name: string, list: readonly number[]) =>
  field(1, [...field(1, text(name)), ...field(2, list)]);
const example = (...features: readonly number[][]) => field(1, features.flat());

function record(data: readonly number[]): Buffer {
  const bytes = Buffer.alloc(16 + data.length);
  bytes.writeBigUInt64LE(BigInt(data.length), 0);
  bytes.writeUInt32LE(maskedCrc32c(bytes.subarray(0, 8)), 8);
  bytes.set(data, 12);
  bytes.writeUInt32LE(maskedCrc32c(bytes.subarray(12, 12 + data.length)), 12 + data.length);
  return bytes;
}

/** -1 as varint. */
const MINUS_ONE = [255, 255, 255, 255, 255, 255, 255, 255, 255, 1];
const UNPACKED = example(feature('n', field(3, [8, 5, 8, ...MINUS_ONE])), feature('empty', []));
const TEXT = example(feature('s', field(1, field(1, text('ä')))), feature('n', field(3, field(1, [7, 8]))));

describe('tfrecordDataset', () => {
  it('reads lists that are not packed, and features without a list', async () => {
    await using folder = await TemporaryFolder.create({ a: Buffer.concat([UNPACKED, TEXT].map(record)) });
    const indexFolder = folder.join('index');
    const all = await tfrecordDataset(folder.join('a'), { indexFolder });
    expect([await all.get(0), await all.get(1)]).toEqual([
      { n: Int32Array.of(5, -1) },
      { s: [new Uint8Array(Buffer.from('ä'))], n: Int32Array.of(7, 8) },
    ]);
    const features = {
      s: { dtype: 'string', default: 'none' },
      n: { dtype: 'int32', shape: 'variable' },
    } as const;
    const some = await tfrecordDataset(folder.join('a'), { indexFolder, features });
    expect([await some.get(0), await some.get(1)]).toEqual([
      { s: 'none', n: Int32Array.of(5, -1) },
      { s: 'ä', n: Int32Array.of(7, 8) },
    ]);
  });

  it('names the record that is damaged, or has other features', async () => {
    const full = Buffer.concat([UNPACKED, TEXT].map(record));
    await using folder = await TemporaryFolder.create({
      'cut off': full.subarray(0, full.length - 1),
      gzip: gzipSync(full),
      other: 'this is a text file of some length',
      'no example': record([255, 255]),
      good: full,
    });
    const open = (name: string, options = {}) =>
      tfrecordDataset(folder.join(name), { indexFolder: folder.join('index'), ...options });
    for (const name of ['cut off', 'gzip', 'other']) {
      await expect(open(name)).rejects.toMatchObject({
        code: 'ACC_DATA_FORMAT',
        details: { file: folder.join(name) },
      });
    }
    const get = async (name: string, i: number, options = {}) => (await open(name, options)).get(i);
    await expect(get('no example', 0)).rejects.toThrow(error('ACC_DATA_FORMAT'));
    const wrong = [
      { x: { dtype: 'float32' } },
      { n: { dtype: 'float32' } },
      { n: { dtype: 'int32' } },
      { s: { dtype: 'bytes', raw: 'int32' } },
    ];
    for (const features of wrong) {
      await expect(get('good', 1, { features })).rejects.toMatchObject({
        code: 'ACC_DATA_COLUMN',
        details: { file: folder.join('good'), row: 1 },
      });
    }
    await expect(open('good', { features: { n: { dtype: 'int64' } } })).rejects.toThrow(
      error('ACC_INVALID_OPTION'),
    );
    const damaged = await readFile(folder.join('good'));
    damaged[damaged.length - 6]! ^= 1;
    await writeFile(folder.join('good'), damaged);
    await expect(get('good', 1)).rejects.toThrow(error('ACC_DATA_FORMAT'));
    await expect(get('good', 1, { checksums: false })).resolves.toBeDefined();
  });
});
