import { join } from 'node:path';
import type { Random } from './mutate.js';
import { repairPng, repairRecords, repairTar } from './files.js';
import { BROKEN } from './broken.js';
import * as seeds from './seeds.js';
import * as models from './models.js';

/** Valid files of a format, of which one is damaged. */
export interface Seed {
  /** By their names, which may have slashes. */
  readonly files: Readonly<Record<string, Uint8Array>>;
  readonly damaged: string;
  /** Whether the file is JSON, whose values are damaged, too. */
  readonly isJson?: boolean;
  /** Gives damaged bytes right checksums, so that readers look at what they protect. */
  repair?(bytes: Buffer): Buffer;
  /** Changes the other files so that they fit to the damaged one. */
  adapt?(files: Record<string, Uint8Array>): void;
}

export interface Format {
  readonly name: string;
  seeds(): Promise<readonly Seed[]>;
  /** Reads all that there is, as a program would. */
  read(folder: string, random: Random): Promise<unknown>;
}

interface Readable {
  readonly length: number;
  get(i: number): unknown;
}

/** Reads so many samples. Damaged files may have many more. */
const MOST_READ = 100;

async function readAll(dataset: Readable): Promise<void> {
  for (let i = 0; i < Math.min(dataset.length, MOST_READ); i++) await dataset.get(i);
}

const indexFolder = (folder: string) => ({ indexFolder: join(folder, '.index'), onScan: () => {} });
const one = (name: string, bytes: Uint8Array, more: Partial<Seed> = {}): Seed => ({
  files: { [name]: bytes },
  damaged: name,
  ...more,
});

const DATA: readonly Format[] = [
  {
    name: 'WebDataset',
    seeds: async () => [one('a.tar', await seeds.tar(), { repair: repairTar })],
    async read(folder) {
      const { webdataset } = await import('@acc/data/webdataset');
      await readAll(
        await webdataset(join(folder, 'a.tar'), { ...indexFolder(folder), image: { resize: [8, 8] } }),
      );
    },
  },
  {
    name: 'TFRecord',
    seeds: () => Promise.resolve([one('a.tfrecord', seeds.records(), { repair: repairRecords })]),
    async read(folder) {
      const { tfrecordDataset } = await import('@acc/data/tfrecord');
      await readAll(await tfrecordDataset(join(folder, 'a.tfrecord'), indexFolder(folder)));
    },
  },
  {
    name: 'Arrow',
    seeds: async () => (await seeds.arrow()).map((bytes) => one('a.arrow', bytes)),
    async read(folder) {
      const { arrowDataset } = await import('@acc/data/arrow');
      await readAll(
        await arrowDataset(join(folder, 'a.arrow'), { integers: 'number', defaults: { name: '' } }),
      );
    },
  },
  {
    name: 'Parquet',
    seeds: async () => (await seeds.parquet()).map((bytes) => one('a.parquet', bytes)),
    async read(folder) {
      const { parquetDataset } = await import('@acc/data/parquet');
      const options = { integers: 'number', defaults: { maybe: 0 } } as const;
      await readAll(await parquetDataset(join(folder, 'a.parquet'), options));
    },
  },
  {
    name: 'JSON Lines',
    seeds: () => Promise.resolve([one('a.jsonl', seeds.lines())]),
    async read(folder) {
      const { jsonlDataset } = await import('@acc/data/jsonl');
      await readAll(
        await jsonlDataset(join(folder, 'a.jsonl'), { ...indexFolder(folder), keys: ['id', 'text'] }),
      );
    },
  },
  {
    name: 'CSV',
    seeds: () => Promise.resolve([one('a.csv', seeds.rows())]),
    async read(folder) {
      const { csvDataset } = await import('@acc/data/csv');
      await readAll(await csvDataset(join(folder, 'a.csv'), indexFolder(folder)));
    },
  },
  {
    name: 'tokens',
    seeds: () => Promise.resolve([{ files: seeds.tokens(), damaged: 't.idx' }]),
    async read(folder) {
      const { packedTokens } = await import('@acc/data/text');
      await readAll(await packedTokens(join(folder, 't'), { sequenceLength: 4, boundaries: 'segments' }));
    },
  },
  {
    name: 'images',
    seeds: async () => {
      const { png, jpeg, webp } = await seeds.images();
      return [
        one('class/a.png', png, { repair: repairPng }),
        one('class/a.png', png, { repair: repairPng }),
        one('class/a.jpg', jpeg),
        one('class/a.webp', webp),
      ];
    },
    async read(folder, random) {
      const { imageFolder } = await import('@acc/data/image-folder');
      const jpegDecoder = random() < 0.5 ? 'sharp' : '@napi-rs/image';
      const images = await imageFolder(folder, { resize: 16, crop: 8, jpegDecoder });
      await images.get(0, { seed: 0, epoch: 0 });
    },
  },
];

/** All formats by their names. A thread loads only what it reads. */
export const FORMATS: ReadonlyMap<string, Format> = new Map(
  [...DATA, ...models.FORMATS, ...BROKEN].map((format) => [format.name, format]),
);
