import { mkdir, readdir, rm, truncate, utimes, writeFile } from 'node:fs/promises';
import { describe, expect, it, vi } from 'vitest';
import { csvDataset } from '../csv/csv-dataset.js';
import { jsonlDataset } from '../jsonl/jsonl-dataset.js';
import { RangeServer } from '../testing/range-server.js';
import { TemporaryFolder } from '../testing/temporary-folder.js';

const error = (code: string): Error => expect.objectContaining({ code }) as Error;
const lines = (from: number, count: number) =>
  Array.from({ length: count }, (_, i) => `{"id":${from + i},"text":"sample ${from + i}"}\n`).join('');

interface Line {
  readonly id: number;
  readonly text: string;
}

const idsOf = async (dataset: { length: number; get(i: number): unknown }) => {
  const samples = Array.from({ length: dataset.length }, async (_, i) => (await dataset.get(i)) as Line);
  return (await Promise.all(samples)).map(({ id }) => id);
};
const numbers = (count: number) => Array.from({ length: count }, (_, i) => i);

describe('a dataset of files', () => {
  it('numbers the samples of all files, in the order of their names', async () => {
    await using folder = await TemporaryFolder.create({
      'b.jsonl': lines(3, 2),
      'a.jsonl': `\n  \n${lines(0, 2)}\r\n\n${lines(2, 1).trimEnd()}`,
      'c.jsonl': '',
    });
    const options = { indexFolder: folder.join('index') };
    const dataset = await jsonlDataset<Line>(folder.join('*.jsonl'), options);
    expect(await idsOf(dataset)).toEqual(numbers(5));
    expect(dataset.nameOf(4)).toBe(`${folder.join('b.jsonl')}, sample 1`);
    const braces = await jsonlDataset<Line>(folder.join('{b,a}.jsonl'), options);
    expect(await idsOf(braces)).toEqual([3, 4, 0, 1, 2]);
    expect(() => dataset.get(5)).toThrow(error('ACC_INVALID_ARGUMENT'));
  });

  it('is scanned once for each version of its files', async () => {
    await using folder = await TemporaryFolder.create({ 'a.jsonl': lines(0, 9) });
    const scanned: number[] = [];
    const open = async () => {
      const dataset = await jsonlDataset(folder.join('a.jsonl'), {
        indexFolder: folder.join('index'),
        onScan: ({ bytesDone, bytesTotal }) => void scanned.push(bytesTotal - bytesDone),
      });
      return idsOf(dataset);
    };
    expect([await open(), await open(), scanned]).toEqual([numbers(9), numbers(9), [0]]);
    await writeFile(folder.join('a.jsonl'), lines(0, 10));
    expect([await open(), scanned]).toEqual([numbers(10), [0, 0]]);
    const [index] = await readdir(folder.join('index'));
    await writeFile(folder.join(`index/${index}`), 'damaged');
    expect([await open(), scanned]).toEqual([numbers(10), [0, 0, 0]]);
  });

  it('is scanned once by all that open it at the same time, and files are shared out', async () => {
    const names = numbers(20).map((i) => `${i + 10}.jsonl`);
    await using folder = await TemporaryFolder.create(
      Object.fromEntries(names.map((name, i) => [name, lines(i * 5, 5)])),
    );
    const scanned: string[][] = [[], [], []];
    // Nothing but files tells them of each other, as with processes.
    const datasets = await Promise.all(
      scanned.map((own) =>
        jsonlDataset<Line>(folder.join('*.jsonl'), {
          indexFolder: folder.join('index'),
          onScan: ({ file }) => void own.push(file),
        }),
      ),
    );
    for (const dataset of datasets) expect(await idsOf(dataset)).toEqual(numbers(100));
    expect(scanned.flat().sort()).toEqual(names.map((name) => folder.join(name)));
    expect((await readdir(folder.join('index'))).filter((name) => !name.endsWith('.index'))).toEqual([]);
  });

  it('gives an error of the scan to all that wait for it', async () => {
    await using folder = await TemporaryFolder.create({ 'a.csv': 'x,y\n1,"2\n' });
    const open = () => csvDataset(folder.join('a.csv'), { indexFolder: folder.join('index') });
    const results = await Promise.allSettled([open(), open(), open()]);
    const failed = { status: 'rejected', reason: error('ACC_DATA_FORMAT') };
    expect(results).toEqual([failed, failed, failed]);
    expect(await readdir(folder.join('index'))).toEqual([]);
  });

  it('is scanned by another process if the one that began it is gone', async () => {
    await using folder = await TemporaryFolder.create({ 'a.jsonl': lines(0, 9) });
    const open = (onScan: () => void = () => {}) =>
      jsonlDataset<Line>(folder.join('a.jsonl'), { indexFolder: folder.join('index'), onScan });
    await open();
    const [index] = await readdir(folder.join('index'));
    await rm(folder.join(`index/${index}`));
    const claim = folder.join(`index/${index}.scan`);
    await mkdir(claim);
    await utimes(claim, 0, 0);
    let scans = 0;
    const datasets = await Promise.all([open(() => scans++), open(() => scans++)]);
    for (const dataset of datasets) expect(await idsOf(dataset)).toEqual(numbers(9));
    expect([scans, await readdir(folder.join('index'))]).toEqual([1, [index]]);
  });

  it('is scanned by each process where no index can be stored', async () => {
    await using folder = await TemporaryFolder.create({ 'a.jsonl': lines(0, 9), 'no-folder': '' });
    const warn = vi.spyOn(process.stderr, 'write').mockReturnValue(true);
    const open = () => jsonlDataset<Line>(folder.join('a.jsonl'), { indexFolder: folder.join('no-folder') });
    for (const dataset of await Promise.all([open(), open()]))
      expect(await idsOf(dataset)).toEqual(numbers(9));
    expect(warn).toHaveBeenCalledTimes(2);
    warn.mockRestore();
  });

  it('refuses files that are not there, that changed, and options that it does not know', async () => {
    await using folder = await TemporaryFolder.create({ 'a.jsonl': lines(0, 4) });
    const options = { indexFolder: folder.join('index') };
    const path = folder.join('a.jsonl');
    await expect(jsonlDataset(folder.join('*.json'))).rejects.toThrow(error('ACC_DATA_NOT_FOUND'));
    await expect(jsonlDataset(folder.join('b.jsonl'))).rejects.toThrow(error('ACC_DATA_NOT_FOUND'));
    await expect(jsonlDataset(folder.path)).rejects.toThrow(error('ACC_DATA_READ'));
    await expect(jsonlDataset([path, path])).rejects.toThrow(error('ACC_INVALID_ARGUMENT'));
    await expect(jsonlDataset([])).rejects.toThrow(error('ACC_INVALID_ARGUMENT'));
    await expect(jsonlDataset(path, { index: 'x' } as object)).rejects.toThrow(error('ACC_UNKNOWN_OPTION'));
    const dataset = await jsonlDataset(path, options);
    await truncate(path, 10);
    await expect(Promise.resolve(dataset.get(0))).rejects.toThrow(error('ACC_DATA_CHANGED'));
  });
});

describe('files of a web server', () => {
  it('are read in ranges, and requests that failed are repeated', async () => {
    await using server = await RangeServer.start({ 'a-00': lines(0, 30), 'a-01': lines(30, 30), empty: '' });
    await using folder = await TemporaryFolder.create();
    const options = { indexFolder: folder.path, blockBytes: 400 };
    const addresses = [server.addressOf('a-{00..01}'), server.addressOf('empty')];
    await jsonlDataset(addresses, options);
    server.ranges.length = 0;
    const dataset = await jsonlDataset<Line>(addresses, options);
    // With an index, only the sizes are asked for.
    expect(server.ranges.map(({ end }) => end)).toEqual([1, 1]);
    server.mishaps.push('status 503', 'cut off');
    expect(await dataset.get(40)).toEqual({ id: 40, text: 'sample 40' });
    const [block] = server.ranges.slice(2);
    expect(block!.file).toBe('a-01');
    expect(block!.end - block!.start).toBeLessThan(460);
    expect(await idsOf(dataset)).toEqual(numbers(60));
  });

  it('must be there, unchanged, and on a server that knows ranges', async () => {
    await using server = await RangeServer.start({ a: lines(0, 3) });
    await using folder = await TemporaryFolder.create();
    const options = { indexFolder: folder.path };
    await expect(jsonlDataset(server.addressOf('b'), options)).rejects.toThrow(error('ACC_DATA_NOT_FOUND'));
    await expect(jsonlDataset(server.addressOf('*'), options)).rejects.toThrow(error('ACC_DATA_NOT_FOUND'));
    server.mishaps.push('whole file');
    await expect(jsonlDataset(server.addressOf('a'), options)).rejects.toThrow(error('ACC_DATA_RANGES'));
    const dataset = await jsonlDataset(server.addressOf('a'), options);
    server.files.set('a', Buffer.from(lines(0, 4)));
    await expect(Promise.resolve(dataset.get(0))).rejects.toThrow(error('ACC_DATA_CHANGED'));
  });
});
