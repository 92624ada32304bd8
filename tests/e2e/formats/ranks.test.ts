import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { csvDataset } from '@acc/data/csv';
import { jsonlDataset, type BlockDataset } from '@acc/data/jsonl';
import { packedTokens } from '@acc/data/text';
import { tfrecordDataset } from '@acc/data/tfrecord';
import { webdataset } from '@acc/data/webdataset';
import { onRanks } from '../on-ranks.js';
import { RangeServer } from '../../../packages/formats/src/testing/range-server.js';
import { writeFormats } from './written.js';

interface Result {
  readonly seen: Record<string, number[]>;
  readonly fromServer: number[];
  readonly scanned: string[];
}

const numbers = (count: number) => Array.from({ length: count }, (_, i) => i);
const SAMPLES = { tfrecord: 51, webdataset: 50, jsonl: 50, csv: 50, tokens: 50 };
/** Samples of all ranks in the three steps before the checkpoint of two ranks. */
const BEFORE = 3 * 4 * 2;
/** Lines of one length: each block has 4 of them, and each of the 6 lanes 4 blocks. */
const LINE = 17;
const lines = (from: number) =>
  numbers(48)
    .map((i) => `{"id":${String(from + i).padStart(9)}}\n`)
    .join('');

let folder: string;
let server: RangeServer;
const runs = new Map<number, Result[]>();
/** The ranges that each rank of a run asked the server for. */
const ranges = new Map<number, RangeServer['ranges'][number][]>();

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'acc-formats-'));
  await writeFormats(folder);
  const numbered = Int32Array.from({ length: 50 * 8 + 1 }, (_, i) => (i % 8 === 0 ? i / 8 : -1));
  await writeFile(join(folder, 'numbered.bin'), new Uint8Array(numbered.buffer));
  const files = numbers(3).flatMap((rank) => [
    [`${rank}/a.jsonl`, lines(0)],
    [`${rank}/b.jsonl`, lines(48)],
  ]);
  server = await RangeServer.start(Object.fromEntries(files) as Record<string, string>);
  const address = server.addressOf('').replace(/\/$/, '');
  const options = { indexFolder: join(folder, 'index') };
  for (const rank of numbers(3)) await jsonlDataset(`${address}/${rank}/{a,b}.jsonl`, options);
  for (const ranks of [2, 1, 3]) {
    server.ranges.length = 0;
    const args = { mode: ranks === 2 ? 'save' : 'go-on', folder, address };
    const module = new URL('./ranks/formats.ts', import.meta.url);
    const env = { OMP_NUM_THREADS: '1' };
    runs.set(ranks, await onRanks<Result>({ module, ranks, args, env }));
    // The first byte of a file is asked for to learn its size.
    ranges.set(
      ranks,
      server.ranges.filter(({ end }) => end > 1),
    );
  }
}, 600_000);
afterAll(async () => {
  await server[Symbol.asyncDispose]();
  await rm(folder, { recursive: true });
});

async function orders(): Promise<Record<string, number[]>> {
  const files = { indexFolder: join(folder, 'index'), blockBytes: 700 };
  const datasets: Record<string, BlockDataset<unknown>> = {
    tfrecord: await tfrecordDataset(join(folder, 't-*.tfrecord'), files),
    webdataset: await webdataset(join(folder, 'w-{000..002}.tar'), { ...files, blockBytes: 9000 }),
    jsonl: await jsonlDataset(join(folder, 'j-*.jsonl'), files),
    csv: await csvDataset(join(folder, 'c-*.csv'), files),
    tokens: await packedTokens(join(folder, 'numbered'), {
      sequenceLength: 8,
      dtype: 'int32',
      blockBytes: 64,
    }),
  };
  return Object.fromEntries(
    Object.entries(datasets).map(([name, dataset]) => {
      const sampler = dataset.sampler({ batchSize: 4, lanes: 6 });
      return [name, [...sampler.order({ samples: dataset.length, seed: 5, epoch: 0 })]];
    }),
  );
}

describe('datasets of files on several ranks with workers', () => {
  it('give each sample once, and go on in mid-epoch on another number of ranks', async () => {
    for (const [name, order] of Object.entries(await orders())) {
      expect([...order].sort((a, b) => a - b)).toEqual(numbers(SAMPLES[name as keyof typeof SAMPLES]));
      for (const { seen } of runs.get(2)!) expect(seen[name], name).toEqual(order.slice(0, BEFORE));
      for (const ranks of [1, 3]) {
        for (const { seen } of runs.get(ranks)!) expect(seen[name], name).toEqual(order.slice(BEFORE));
      }
    }
  });

  it('scan each file on one rank, and not again in later runs', async () => {
    const names = (await readdir(folder)).filter((name) => /^[twjc]-/.test(name)).sort();
    expect(names.length).toBeGreaterThan(4);
    expect(
      runs
        .get(2)!
        .flatMap(({ scanned }) => scanned)
        .sort(),
    ).toEqual(names);
    for (const ranks of [1, 3]) expect(runs.get(ranks)!.flatMap(({ scanned }) => scanned)).toEqual([]);
  });

  it('read from a server only what is theirs, and that once', () => {
    for (const [ranks, results] of runs) {
      for (const { fromServer } of results) {
        expect([...fromServer].sort((a, b) => a - b)).toEqual(numbers(96));
      }
      const asked = ranges.get(ranks)!.map(({ file, start, end }) => {
        const [rank, name] = file.split('/') as [string, string];
        return { rank: Number(rank), block: `${name} ${start / (4 * LINE)}`, bytes: end - start };
      });
      expect(asked.every(({ bytes }) => bytes === 4 * LINE)).toBe(true);
      // All 24 blocks, none of them twice, and as many for each rank.
      expect(new Set(asked.map(({ block }) => block)).size).toBe(24);
      expect(asked.length).toBe(24);
      for (const rank of numbers(ranks)) {
        expect(asked.filter((range) => range.rank === rank).length).toBe(24 / ranks);
      }
    }
  });
});
