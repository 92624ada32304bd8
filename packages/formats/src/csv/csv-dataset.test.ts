import type { AccError } from '@acc/contract';
import { describe, expect, it } from 'vitest';
import { shaped } from '../samples/shaped-array.js';
import { TemporaryFolder } from '../testing/temporary-folder.js';
import { csvDataset } from './csv-dataset.js';

const error = (code: string): Error => expect.objectContaining({ code }) as Error;

async function rowsOf(folder: TemporaryFolder, name: string, options: object = {}): Promise<unknown[]> {
  const dataset = await csvDataset(folder.join(name), { indexFolder: folder.join('index'), ...options });
  return Promise.all(Array.from({ length: dataset.length }, async (_, i) => dataset.get(i)));
}

describe('csvDataset', () => {
  it('reads quoted cells with newlines, delimiters and quotes, and skips blank lines', async () => {
    await using folder = await TemporaryFolder.create({
      'a.csv': '\ufeffid,text\r\n1,"two\r\nlines, and ""quotes"""\r\n\r\n2,plain\r\n3,""',
    });
    expect(await rowsOf(folder, 'a.csv')).toEqual([
      { id: '1', text: 'two\r\nlines, and "quotes"' },
      { id: '2', text: 'plain' },
      { id: '3', text: '' },
    ]);
  });

  it('gives columns their types, and makes lists of several', async () => {
    await using folder = await TemporaryFolder.create({ 'a.csv': 'a,b,n,ok\n1.5,,7,true\n-2,4e1,-8,0\n' });
    const columns = {
      x: { dtype: 'float32', from: ['b', 'a'], default: 9 },
      n: 'int32',
      flag: { dtype: 'bool', from: 'ok' },
    };
    expect(await rowsOf(folder, 'a.csv', { columns })).toEqual([
      { x: Float32Array.of(9, 1.5), n: shaped(Int32Array.of(7), []), flag: true },
      { x: Float32Array.of(40, -2), n: shaped(Int32Array.of(-8), []), flag: false },
    ]);
  });

  it('reads other delimiters, files without a header, and quotes that mean nothing', async () => {
    await using folder = await TemporaryFolder.create({ 'a.tsv': '5"\tx\n6"\ty\n' });
    const options = { delimiter: '\t', header: ['size', 'name'], quote: false };
    expect(await rowsOf(folder, 'a.tsv', options)).toEqual([
      { size: '5"', name: 'x' },
      { size: '6"', name: 'y' },
    ]);
  });

  it('says what each form of an option expects, and names the nearest value', async () => {
    await using folder = await TemporaryFolder.create({ 'a.csv': 'a,b\n1,2\n' });
    const refused = (column: unknown) =>
      rowsOf(folder, 'a.csv', { columns: { a: column } }).catch((reason: unknown) => reason as AccError);
    expect(await refused('int23')).toMatchObject({
      code: 'ACC_INVALID_OPTION',
      message: expect.stringMatching(/'int32'.* or an object/) as string,
      help: expect.stringContaining("'int32'") as string,
    });
    expect(await refused({ dtype: 'int32', from: 'b', default: '0' })).toMatchObject({
      code: 'ACC_INVALID_OPTION',
      message: expect.stringMatching(
        /columns\.a\.default is "0"; expected a number or true or false/,
      ) as string,
    });
    expect(await refused({ dtype: 'int32', form: 'b' })).toMatchObject({ code: 'ACC_UNKNOWN_OPTION' });
  });

  it('names the row that does not fit', async () => {
    await using folder = await TemporaryFolder.create({
      'a.csv': 'a,b\n1,2\n3\n',
      'b.csv': 'b,a\n1,2\n',
      'c.csv': 'a\n"x\n',
      'd.csv': 'a,b\n1,x\n,2.5\n',
    });
    const at = (name: string, options = {}) =>
      csvDataset(folder.join(name), { indexFolder: folder.join('index'), ...options });
    await expect(rowsOf(folder, 'a.csv')).rejects.toMatchObject({
      code: 'ACC_DATA_FORMAT',
      details: { file: folder.join('a.csv'), row: 1 },
    });
    await expect(at('{a,b}.csv')).rejects.toThrow(error('ACC_DATA_FORMAT'));
    await expect(at('c.csv')).rejects.toThrow(error('ACC_DATA_FORMAT'));
    await expect(at('a.csv', { columns: { c: 'string' } })).rejects.toThrow(error('ACC_DATA_COLUMN'));
    for (const columns of [{ b: 'float32' }, { b: 'int32' }, { a: 'float32' }, { a: 'bool' }] as const) {
      await expect(rowsOf(folder, 'd.csv', { columns })).rejects.toThrow(error('ACC_DATA_COLUMN'));
    }
  });
});
