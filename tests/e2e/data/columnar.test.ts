import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { arrowDataset } from '@acc/data/arrow';
import { parquetDataset, type ColumnarOptions } from '@acc/data/parquet';
import { onRanks } from '../on-ranks.js';
import { venv } from '../trackers/python/venv.js';

interface Expected {
  readonly rows: Record<string, unknown>[];
  readonly times: number[];
}

interface Result {
  readonly seen: number[];
  readonly isRight: boolean;
  readonly dtypes: string[];
}

const ROWS = 240;
const numbers = (n: number) => Array.from({ length: n }, (_, i) => i);
const sorted = (values: readonly number[]) => [...values].sort((a, b) => a - b);

let root: string;
let expected: Expected;
let server: Server;
/** The ranges that were served before the end of a file, by the folder that a rank asked for. */
const served = new Map<string, Set<string>>();
beforeAll(async () => {
  root = await mkdtemp(join(tmpdir(), 'acc-columnar-'));
  const { bin } = await venv('columnar');
  await promisify(execFile)(bin('python'), [join(import.meta.dirname, 'python', 'write_columnar.py'), root]);
  expected = JSON.parse(await readFile(join(root, 'expected.json'), 'utf8')) as Expected;
  server = createServer((request, response) => {
    const [, rank, name] = request.url!.split('/') as [string, string, string];
    void readFile(join(root, name)).then((content) => {
      const [, first, last] = /^bytes=(\d+)-(\d+)$/.exec(request.headers.range ?? '') ?? [];
      const [start, end] = [Number(first), Math.min(Number(last) + 1, content.length)];
      if (!served.has(rank)) served.set(rank, new Set());
      // Ranges up to the end are footers.
      if (end < content.length) served.get(rank)!.add(`${name} ${start}-${end}`);
      response.writeHead(206, {
        'content-range': `bytes ${start}-${end - 1}/${content.length}`,
        'content-length': end - start,
        etag: `"${name}"`,
      });
      response.end(content.subarray(start, end));
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
});
afterAll(async () => {
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
  await rm(root, { recursive: true });
});

async function read(files: string, options: ColumnarOptions<Record<string, unknown>>) {
  const open = /parquet/.test(files) ? parquetDataset : arrowDataset;
  const dataset = await open(join(root, files), options);
  return Promise.all(numbers(dataset.length).map(async (i) => dataset.get(i)));
}

/** Typed and shaped arrays as lists. */
function plain(value: unknown): unknown {
  if (ArrayBuffer.isView(value)) return Array.from(value as Uint8Array);
  if (typeof value !== 'object' || value === null || !('shape' in value)) return value;
  const { data, shape } = value as { data: Int32Array; shape: number[] };
  if (shape.length === 0) return data[0];
  const width = shape.at(-1)!;
  return numbers(data.length / width).map((i) => [...data.subarray(i * width, (i + 1) * width)]);
}

const FILES = [
  ['kinds-{0..5}.parquet', 0, 60],
  ['delta.parquet', 60, 10],
  ['kinds-{0,1}.arrow', 0, 60],
  ['plain.feather', 0, 10],
] as const;

describe.each([
  ['parquet', ['whole 1', 'whole 2', 'save 3', 'go-on 1', 'go-on 2']],
  ['arrow', ['whole 1', 'save 3', 'whole 2', 'go-on 2']],
] as const)('datasets of %s', (format, launches) => {
  it('give each sample once, and each rank reads its own blocks', async () => {
    const { port } = server.address() as AddressInfo;
    const module = new URL('./ranks/columnar.ts', import.meta.url);
    let whole: number[] = [];
    for (const launch of launches) {
      const [mode, ranks] = launch.split(' ') as [string, string];
      const folder = join(root, `state-${format}`);
      const args = { mode, format, folder, address: `http://127.0.0.1:${port}` };
      const env = { OMP_NUM_THREADS: '1' };
      const results = await onRanks<Result>({ module, ranks: Number(ranks), args, env });
      const { seen } = results[0]!;
      if (launch === 'whole 1') whole = seen;
      for (const result of results) {
        expect(result).toEqual({ isRight: true, dtypes: ['int32', 'float32', 'float32'], seen });
      }
      const start = mode === 'go-on' ? 60 : 0;
      expect(seen, launch).toEqual(whole.slice(start, mode === 'save' ? 60 : undefined));
    }
    expect(sorted(whole)).toEqual(numbers(ROWS));
    // Ranks share the blocks, and no block is read by two of them.
    const all = [...served.get(`${format}-whole-1-0`)!].filter(isBody);
    const ofRanks = ['0', '1'].flatMap((rank) =>
      [...served.get(`${format}-whole-2-${rank}`)!].filter(isBody),
    );
    expect(all.length).toBeGreaterThanOrEqual(12);
    expect(ofRanks.sort()).toEqual(all.sort());
    const bytes = all.reduce((sum, range) => sum + lengthOf(range), 0);
    // The column that nobody asked for is most of a Parquet file. Record batches are read whole.
    const share = bytes / (await readFile(join(root, `rows-0.${format}`))).length;
    if (format === 'parquet') expect(share).toBeLessThan(0.1);
  });
});

describe('datasets of columns', () => {
  it.each(FILES)('read what pyarrow writes: %s', async (files, first, count) => {
    const samples = await read(files, { defaults: { maybe: -1 }, columns: COLUMNS });
    expect(samples).toHaveLength(count);
    samples.forEach((sample, i) => {
      const { big: _, ...row } = expected.rows[first + i]!;
      expect(Object.fromEntries(Object.entries(sample).map(([key, value]) => [key, plain(value)]))).toEqual({
        ...row,
        maybe: row['maybe'] ?? -1,
        raw: [(first + i) % 256, 255, 0],
        when: new Date(expected.times[first + i]!),
      });
      expect(sample['vector']).toBeInstanceOf(Float32Array);
      expect(sample['tokens']).toBeInstanceOf(Int32Array);
    });
  });

  it.each(['parquet', 'arrow'])('refuse what they cannot give: %s', async (ending) => {
    const column = (name: string, options = {}) => read(`kinds-0.${ending}`, { columns: [name], ...options });
    const refused = expect.objectContaining({ code: 'ACC_DATA_COLUMN' });
    await expect(column('big')).rejects.toEqual(refused);
    expect((await column('big', { integers: 'number' }))[3]).toEqual({ big: 5_000_000_003 });
    await expect(column('maybe')).rejects.toEqual(refused);
    await expect(column('none')).rejects.toEqual(refused);
    await writeFile(join(root, `no.${ending}`), 'this is no such file, but it has some bytes');
    await expect(read(`no.${ending}`, {})).rejects.toMatchObject({ code: 'ACC_DATA_FORMAT' });
    const content = await readFile(join(root, `kinds-0.${ending}`));
    await writeFile(join(root, `cut.${ending}`), content.subarray(0, content.length / 2));
    await expect(read(`cut.${ending}`, {})).rejects.toMatchObject({ code: 'ACC_DATA_FORMAT' });
  });

  it('refuse other columns, types without a meaning here, and compressed batches', async () => {
    const refused = expect.objectContaining({ code: 'ACC_DATA_COLUMN' });
    await expect(read('{kinds-0,other}.parquet', { columns: ['id'] })).rejects.toEqual(refused);
    await expect(read('duration.arrow', {})).rejects.toEqual(refused);
    await expect(read('zstd.arrow', {})).rejects.toMatchObject({ code: 'ACC_DATA_FORMAT' });
  });

  it('follow dictionaries that grow and are replaced', async () => {
    const kinds = await read('dictionaries.arrow', {});
    expect(kinds.map(({ kind }) => kind)).toEqual(['a', 'b', 'a', 'b', 'c', 'z']);
  });
});

/** Whether a range is of a block: not the first byte, nor the schema, dictionaries and heads of messages. */
const isBody = (range: string) =>
  range.includes('.arrow') ? lengthOf(range) > 10_000 : !range.endsWith(' 0-1');

function lengthOf(range: string): number {
  const [start, end] = range.split(' ')[1]!.split('-').map(Number);
  return end! - start!;
}

const COLUMNS = [
  ...['id', 'small', 'score', 'precise', 'flag', 'text', 'kind', 'raw', 'vector', 'tokens', 'matrix'],
  ...['when', 'maybe'],
];
