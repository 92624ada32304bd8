import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { s3Storage } from '@acc/checkpoint';
import { shaped, type ShapedArray } from '@acc/data';
import { csvDataset } from '@acc/data/csv';
import { jsonlDataset } from '@acc/data/jsonl';
import { packedTokens, tokenizeText } from '@acc/data/text';
import { tfrecordDataset } from '@acc/data/tfrecord';
import { webdataset } from '@acc/data/webdataset';
import { S3Server } from '../checkpoints/s3-server.js';
import { writeFormats, type Written } from './written.js';

let folder: string;
let written: Written;
let server: S3Server;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'acc-formats-'));
  written = await writeFormats(folder);
  server = await S3Server.start('data');
}, 600_000);
afterAll(async () => {
  await server.stop();
  await rm(folder, { recursive: true });
});

const error = (code: string): Error => expect.objectContaining({ code }) as Error;
const path = (name: string) => join(folder, name);
const options = () => ({ indexFolder: path('index') });

interface Readable<T> {
  readonly length: number;
  get(i: number): T | PromiseLike<T>;
}

const samplesOf = <T>(dataset: Readable<T>): Promise<T[]> =>
  Promise.all(Array.from({ length: dataset.length }, async (_, i) => dataset.get(i)));

it('reads the TFRecords of TensorFlow', async () => {
  const features = {
    id: { dtype: 'int32' },
    x: { dtype: 'float32', shape: [2, 3] },
    lengths: { dtype: 'int32', shape: 'variable' },
    text: { dtype: 'string' },
    words: { dtype: 'string', shape: 'variable' },
    pixels: { dtype: 'bytes', raw: 'uint8', shape: [2, 2] },
  } as const;
  const samples = await samplesOf(await tfrecordDataset(path('t-*.tfrecord'), { ...options(), features }));
  expect(samples).toEqual(
    written.tfrecord.map(({ id, x, lengths, text, words, pixels }) => ({
      id,
      x: shaped(Float32Array.from(x), [2, 3]),
      lengths: Int32Array.from(lengths),
      text,
      words,
      pixels: shaped(Uint8Array.from(pixels), [2, 2]),
    })),
  );
  await expect(tfrecordDataset(path('gzip.tfrecord'))).rejects.toThrow(error('ACC_DATA_FORMAT'));
});

it('reads the shards of WebDataset', async () => {
  const samples = await samplesOf(await webdataset(path('w-{000..002}.tar'), options()));
  expect(samples).toEqual(
    written.webdataset.map(({ key, pixels }, i) => ({
      __key__: key,
      txt: `text\nä ${i}`,
      cls: shaped(Int32Array.of(i), []),
      json: { i },
      npy: { ...(samples[i]!['npy'] as object), shape: [2, 3] },
      png: shaped(Uint8Array.from(pixels.flat(2)), [1, 2, 3]),
      'seg.png': shaped(Uint8Array.from(pixels.flat(2).slice(0, 3)), [1, 1, 3]),
      bin: Uint8Array.of(i, 255),
    })),
  );
  for (const [i, { array }] of written.webdataset.entries()) {
    expect([...(samples[i]!['npy'] as ShapedArray).data]).toEqual(array.flat());
  }
  const some = await webdataset(path('w-*.tar'), {
    ...options(),
    fields: ['jpg;png', '__key__'],
    decode: false,
  });
  expect(Object.keys((await some.get(3)) as object)).toEqual(['jpg', '__key__']);
  const missing = await webdataset(path('w-*.tar'), { ...options(), fields: ['jpg'] });
  await expect(Promise.resolve(missing.get(3))).rejects.toThrow(error('ACC_DATA_COLUMN'));
  const resized = await webdataset(path('w-*.tar'), {
    ...options(),
    fields: ['png'],
    image: { resize: [4, 6], channels: 1 },
  });
  expect((await resized.get(0))['png']).toMatchObject({ shape: [4, 6, 1] });
});

it('reads the CSV and JSON Lines of Python', async () => {
  const columns = {
    id: 'int32',
    text: 'string',
    x: { dtype: 'float32', from: ['a', 'b'] },
    flag: 'bool',
  } as const;
  expect(await samplesOf(await csvDataset(path('c-*.csv'), { ...options(), columns }))).toEqual(
    written.csv.map(([id, text, a, b, flag]) => ({
      id: shaped(Int32Array.of(id), []),
      text,
      x: Float32Array.of(a, b),
      flag,
    })),
  );
  expect(await samplesOf(await jsonlDataset(path('j-*.jsonl'), options()))).toEqual(written.jsonl);
});

it('writes the tokens of Hugging Face’s tokenizers in the format of Megatron-LM', async () => {
  const { tokens } = await tokenizeText(path('texts.jsonl'), path('tokens/t'), {
    ...options(),
    tokenizer: path('tokenizer.json'),
    documents: 'jsonl',
    endOfDocument: '<|end|>',
  });
  expect(tokens).toBe(written.tokens.flat().length);
  for (const ending of ['bin', 'idx']) {
    expect(await readFile(path(`tokens/t.${ending}`))).toEqual(await readFile(path(`megatron.${ending}`)));
  }
  const dataset = await packedTokens(path('megatron'), { sequenceLength: 16, boundaries: 'segments' });
  const samples = await samplesOf(dataset);
  const used = samples.length * 16;
  expect(samples.length).toBe(Math.floor((tokens - 1) / 16));
  expect(samples.flatMap(({ inputs }) => [...inputs])).toEqual(written.tokens.flat().slice(0, used));
  expect(samples.flatMap(({ labels }) => [...labels])).toEqual(written.tokens.flat().slice(1, used + 1));
  const ends = written.tokens.flatMap((document) =>
    document.map((_, i) => (i === document.length - 1 ? 0 : 1)),
  );
  expect(samples.flatMap(({ lossMask }) => [...lossMask])).toEqual(ends.slice(0, used));
});

it('reads objects of a bucket', async () => {
  const { endpoint, credentials } = server;
  const bucket = s3Storage({ bucket: 'data', endpoint, credentials });
  for (const shard of [0, 1])
    await bucket.put(`x/j-${shard}.jsonl`, await readFile(path(`j-${shard}.jsonl`)));
  await bucket.put('x/notes.txt', new Uint8Array(1));
  const s3 = { endpoint, credentials };
  const files = { ...options(), blockBytes: 500, s3 };
  expect(await samplesOf(await jsonlDataset('s3://data/x/j-?.jsonl', files))).toEqual(written.jsonl);
  const open = (location: string, more: object = {}) => jsonlDataset(location, { ...files, ...more });
  await expect(open('s3://data/y/*.jsonl')).rejects.toThrow(error('ACC_DATA_NOT_FOUND'));
  await expect(open('s3://data/x/j-2.jsonl')).rejects.toThrow(error('ACC_DATA_NOT_FOUND'));
  const wrong = { s3: { endpoint, credentials: { ...credentials, secretAccessKey: 'wrong' } } };
  await expect(open('s3://data/x/j-0.jsonl', wrong)).rejects.toThrow(error('ACC_DATA_READ'));
});
