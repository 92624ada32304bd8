import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { badFormat, damaged } from '../testing/damaged-files.js';
import { TemporaryFolder } from '../testing/temporary-folder.js';
import { checkLz4 } from './lz4.js';
import { parquetDataset, type ParquetOptions } from './parquet-dataset.js';
import { checkRuns } from './runs.js';
import { checkZstd } from './zstd.js';

/** Written by pyarrow 21: twelve rows in two row groups, as `expected` has them. */
const seed = (name: string) => fileURLToPath(new URL(`../testing/seeds/${name}`, import.meta.url));

const samplesOf = async (file: string, options: ParquetOptions = {}) => {
  const dataset = await parquetDataset(file, { integers: 'number', defaults: { maybe: -1 }, ...options });
  const samples: unknown[] = [];
  for (let i = 0; i < dataset.length; i++) samples.push(await dataset.get(i));
  return samples;
};

const expected = Array.from({ length: 12 }, (_, i) => ({
  id: i,
  big: 5_000_000 + i * i,
  score: i / 8,
  precise: i / 3,
  flag: i % 3 === 0,
  text: `row ${i >> 1} ä`,
  maybe: i % 7 === 3 ? -1 : i,
  tokens: Int32Array.from({ length: i % 4 }, (_, token) => token),
  pair: { a: i, b: `b${i}` },
}));

describe('a Parquet file', () => {
  it.each(['plain', 'snappy', 'gzip', 'brotli', 'lz4', 'zstd', 'encodings', 'encodings-1'])(
    'with %s is read',
    async (name) => {
      expect(await samplesOf(seed(`${name}.parquet`))).toEqual(expected);
    },
  );

  it.each([
    ['gzip-123.parquet', /row group 0, column 'id': the page at byte 59 of the column: rows: 1356/],
    ['gzip-44.parquet', /row group 0, column 'l': the page at byte 64 of the column: .* cut off/],
    ['zstd-229.parquet', /its footer: column 3 of row group 0 is not 'l.list.elament'/],
  ])('%s ends with its name and the place', async (name, place) => {
    await expect(samplesOf(damaged(name))).rejects.toThrow(badFormat(damaged(name), place));
  });

  it('is refused if it states more than the limits', async () => {
    const file = seed('plain.parquet');
    const rows = samplesOf(file, { maxGroupValues: 6 });
    await expect(rows).rejects.toThrow(
      badFormat(file, /rows of row group 0: 7, .* 6 \(option maxGroupValues/),
    );
    const page = samplesOf(file, { maxPageBytes: 16 });
    await expect(page).rejects.toThrow(
      badFormat(file, /row group 0, column 'id': the page at byte 0 .* be 16/),
    );
  });

  it('leaves no rejection behind if several columns fail', async () => {
    const content = await readFile(seed('plain.parquet'));
    // The first pages.
    content.fill(0, 4, 600);
    await using folder = await TemporaryFolder.create({ 'a.parquet': content });
    const left: unknown[] = [];
    const note = (reason: unknown) => void left.push(reason);
    process.on('unhandledRejection', note);
    const file = folder.join('a.parquet');
    await expect(samplesOf(file)).rejects.toThrow(badFormat(file, /row group 0, column 'id'/));
    await new Promise((resolve) => setImmediate(resolve));
    process.off('unhandledRejection', note);
    expect(left).toEqual([]);
  });
});

describe('what pages state', () => {
  const page = (...bytes: number[]) => Uint8Array.from(bytes);

  it('is counted in runs', () => {
    // Three times 1, and then a group of eight of which five are asked for: 1 0 1 0 1.
    const runs = page(6, 1, 3, 0b10101);
    expect(checkRuns(runs, { from: 0, to: 4, width: 1, count: 8 }, 1)).toBe(6);
    expect(() => checkRuns(runs, { from: 0, to: 4, width: 1, count: 2 }, 1)).toThrow('3 values, and 2');
    expect(() => checkRuns(runs, { from: 0, to: 3, width: 1, count: 8 }, 1)).toThrow('cut off');
    expect(() =>
      checkRuns(page(254, 255, 255, 255, 15, 1), { from: 0, to: 6, width: 1, count: 8 }, 1),
    ).toThrow('2147483647 values, and 8 are left');
  });

  it('is counted in blocks of LZ4 and in frames of zstd', () => {
    const lz4 = page(0x14, 65, 1, 0, 0x10, 66);
    expect(() => checkLz4(lz4, 10)).not.toThrow();
    expect(() => checkLz4(lz4, 11)).toThrow('becomes 10 bytes');
    expect(() => checkLz4(lz4.subarray(0, 3), 10)).toThrow(RangeError);
    const zstd = (size: number, ...block: number[]) => page(0x28, 0xb5, 0x2f, 0xfd, 0x20, size, ...block);
    // One byte, repeated eight times, in the last block.
    expect(() => checkZstd(zstd(8, 0x43, 0, 0, 65), 8)).not.toThrow();
    expect(() => checkZstd(zstd(200, 0x43, 0, 0, 65), 8)).toThrow('needs 200 bytes, and a page has 8');
    expect(() => checkZstd(zstd(8, 0x43, 6, 0, 65), 8)).toThrow('more than the 8 bytes');
    expect(() => checkZstd(zstd(8, 0x42, 0, 0, 65), 8)).toThrow(RangeError);
  });
});
