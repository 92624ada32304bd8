import { writeFile } from 'node:fs/promises';
import {
  Bool,
  Dictionary,
  Field,
  FixedSizeList,
  Float32,
  Int32,
  List,
  Table,
  tableToIPC,
  Utf8,
  vectorFromArray,
} from 'apache-arrow';
import { describe, expect, it } from 'vitest';
import { badFormat, damaged } from '../testing/damaged-files.js';
import { TemporaryFolder } from '../testing/temporary-folder.js';
import { arrowDataset } from './arrow-dataset.js';

const samplesOf = async (file: string, options: Parameters<typeof arrowDataset>[1] = {}) => {
  const dataset = await arrowDataset(file, options);
  const samples: unknown[] = [];
  for (let i = 0; i < dataset.length; i++) samples.push(await dataset.get(i));
  return samples;
};

const table = new Table({
  name: vectorFromArray(['alpha', null, 'gamma', 'delta'], new Dictionary(new Utf8(), new Int32())),
  text: vectorFromArray(['one', 'two', '', 'four'], new Utf8()),
  flag: vectorFromArray([true, false, true, true], new Bool()),
  list: vectorFromArray([[1], [2, 3], [], [4, 5, 6]], new List(new Field('item', new Float32()))),
  pair: vectorFromArray(
    [
      [1, 2],
      [3, 4],
      [5, 6],
      [7, 8],
    ],
    new FixedSizeList(2, new Field('item', new Float32())),
  ),
});

/** Changes the first occurrence of some bytes. */
function replaced(bytes: Uint8Array, from: Uint8Array, to: Uint8Array): Uint8Array {
  const copy = Buffer.from(bytes);
  const at = copy.indexOf(from);
  expect(at, 'what is to be changed is there').toBeGreaterThan(0);
  to.forEach((byte, i) => (copy[at + i] = byte));
  return copy;
}
const bytesOf = (...values: number[]) => new Uint8Array(Int32Array.from(values).buffer);

describe('an Arrow file', () => {
  it.each([
    ['file', 'ARROW1\0\0'],
    ['stream', ''],
  ] as const)('in the format of a %s is read', async (_, magic) => {
    const content = Buffer.concat([Buffer.from(magic), tableToIPC(table, 'stream')]);
    await using folder = await TemporaryFolder.create({ 'a.arrow': content });
    const samples = await samplesOf(folder.join('a.arrow'), { defaults: { name: 'none' } });
    expect(samples).toMatchObject([
      { name: 'alpha', text: 'one', flag: true, list: Float32Array.of(1), pair: Float32Array.of(1, 2) },
      { name: 'none', text: 'two', flag: false },
      { name: 'gamma', text: '', list: Float32Array.of() },
      { name: 'delta', text: 'four', list: Float32Array.of(4, 5, 6), pair: Float32Array.of(7, 8) },
    ]);
  });

  it.each([
    ['data-58.arrow', /the message at byte 280 .* are used, and it has 280/],
    ['data-62.arrow', /the message at byte 8 .* are used, and it has 176/],
    ['dict-31.arrow', /the message at byte 8 .* are used, and it has 184/],
    ['dict-75.arrow', /the message at byte 224 .* are used, and it has 184/],
    ['stream-47.arrow', /the message at byte 0 .* are used, and it has 312/],
  ])('%s ends with its name and the place', async (name, place) => {
    await expect(samplesOf(damaged(name))).rejects.toThrow(badFormat(damaged(name), place));
  });

  it.each([
    [
      'words that are not in the dictionary',
      bytesOf(0, 0, 1, 2),
      bytesOf(0, 0, 1, 9),
      /word 9 of a dictionary/,
    ],
    ['offsets that descend', bytesOf(0, 3, 6, 6, 10), bytesOf(0, 3, 1, 6, 10), /offset is 1/],
    ['offsets behind the text', bytesOf(0, 3, 6, 6, 10), bytesOf(0, 3, 6, 6, 2 ** 30), /bytes/],
    ['lists behind their items', bytesOf(0, 1, 3, 3, 6), bytesOf(0, 1, 3, 3, 2 ** 30), /items of lists/],
  ])('with %s is refused when it is read', async (_, from, to, place) => {
    const content = replaced(tableToIPC(table, 'stream'), from, to);
    await using folder = await TemporaryFolder.create({ 'a.arrow': content });
    await expect(samplesOf(folder.join('a.arrow'))).rejects.toThrow(badFormat(folder.join('a.arrow'), place));
  });

  it('with a negative body length is refused', async () => {
    const one = tableToIPC(new Table({ x: vectorFromArray([1, 2, 3], new Int32()) }), 'stream');
    const content = replaced(one, bytesOf(12, 16, 0), bytesOf(12, -400, -1));
    await using folder = await TemporaryFolder.create({ 'a.arrow': content });
    const what = /the message at byte 136 .* states -400 bytes of its body/;
    await expect(samplesOf(folder.join('a.arrow'))).rejects.toThrow(badFormat(folder.join('a.arrow'), what));
  });

  it('is refused wherever it is cut off', async () => {
    const content = tableToIPC(table, 'stream');
    await using folder = await TemporaryFolder.create();
    const ends = [16, 100, 300, content.length - 100];
    for (const end of ends) {
      await writeFile(folder.join('a.arrow'), content.subarray(0, end));
      await expect(samplesOf(folder.join('a.arrow'))).rejects.toThrow(badFormat(folder.join('a.arrow'), /./));
    }
  });
});
