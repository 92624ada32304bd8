import { execFileSync } from 'node:child_process';
import { readdir, readFile, symlink, truncate, writeFile } from 'node:fs/promises';
import { expect, it } from 'vitest';
import { TemporaryFolder } from '../testing/temporary-folder.js';
import { MAX_JSON_DEPTH, parseJson } from '@acc/contract';
import { csvDataset } from '../csv/csv-dataset.js';
import { fileOptions } from '../file-options.js';
import { jsonlDataset } from './jsonl-dataset.js';

const failure = (code: string, message: RegExp): Error =>
  expect.objectContaining({ code, message: expect.stringMatching(message) as string }) as Error;

it('refuses a pipe and a link that leads to itself, with their paths', async () => {
  await using folder = await TemporaryFolder.create();
  execFileSync('mkfifo', [folder.join('pipe.jsonl')]);
  await symlink('self.jsonl', folder.join('self.jsonl'));
  const open = (name: string) => jsonlDataset(folder.join(name), { indexFolder: folder.join('index') });
  await expect(open('pipe.jsonl')).rejects.toThrow(failure('ACC_DATA_READ', /pipe.jsonl .*it is no file/));
  await expect(open('self.jsonl')).rejects.toThrow(failure('ACC_DATA_READ', /self.jsonl .*ELOOP/));
  await expect(open('{self,pipe}.jsonl')).rejects.toThrow(failure('ACC_DATA_READ', /\.jsonl/));
});

it('refuses a line that is longer than maxSampleBytes, by default 256 MiB', async () => {
  await using folder = await TemporaryFolder.create({ 'a.jsonl': '1\n"', 'b.csv': 'x\n1\n22222\n' });
  await truncate(folder.join('a.jsonl'), 3 * 2 ** 20);
  expect(fileOptions.maxSampleBytes.parse(undefined)).toBe(256 * 2 ** 20);
  const indexFolder = folder.join('index');
  const long = jsonlDataset(folder.join('a.jsonl'), { indexFolder, maxSampleBytes: 2 ** 21 });
  await expect(long).rejects.toThrow(
    failure('ACC_DATA_FORMAT', /a.jsonl, sample 1: it has 3145726 bytes, and at most 2097152/),
  );
  const row = csvDataset(folder.join('b.csv'), { indexFolder, maxSampleBytes: 5 });
  await expect(row).rejects.toThrow(failure('ACC_DATA_FORMAT', /b.csv, row 1: it has 6 bytes/));
  const header = csvDataset(folder.join('b.csv'), { indexFolder: folder.join('other'), maxSampleBytes: 6 });
  expect((await header).length).toBe(2);
});

it('refuses JSON that is nested too deep for what visits it', async () => {
  const nested = (levels: number) => '[1,{"a":'.repeat(levels / 2) + '0' + '}]'.repeat(levels / 2);
  expect(() => parseJson(nested(MAX_JSON_DEPTH))).not.toThrow();
  expect(() => parseJson(nested(MAX_JSON_DEPTH + 2))).toThrow(RangeError);
  await using folder = await TemporaryFolder.create({ 'a.jsonl': `1\n${nested(20_000)}\n` });
  const dataset = await jsonlDataset(folder.join('a.jsonl'), { indexFolder: folder.join('index') });
  expect(await dataset.get(0)).toBe(1);
  await expect(Promise.resolve().then(() => dataset.get(1))).rejects.toThrow(
    failure('ACC_DATA_FORMAT', /a.jsonl, sample 1: .*nested more than 1000 deep/),
  );
});

it('makes an index of its own again if its places are damaged', async () => {
  await using folder = await TemporaryFolder.create({ 'a.jsonl': '1\n22\n333\n' });
  const open = () => jsonlDataset(folder.join('a.jsonl'), { indexFolder: folder.join('index') });
  await open();
  const [name] = await readdir(folder.join('index'));
  const path = folder.join(`index/${name}`);
  const index = await readFile(path);
  for (const place of [-8, 2 ** 40, NaN, 1.5]) {
    const damaged = Buffer.from(index);
    damaged.writeDoubleLE(place, damaged.length - 16);
    await writeFile(path, damaged);
    const dataset = await open();
    expect([dataset.length, await dataset.get(2)]).toEqual([3, 333]);
  }
});
