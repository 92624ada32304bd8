import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { permutation } from '@acc/data';
import { imageFolder, type ImageFolderOptions, type ImageSample } from '@acc/data/image-folder';
import { onRanks } from '../on-ranks.js';
import { venv } from '../trackers/python/venv.js';

interface Expected {
  readonly classes: string[];
  readonly samples: [path: string, label: number][];
  readonly pixels: (Record<Mode, number[]> & {
    readonly resized: Record<Mode, number[][]>;
  })[];
}

type Mode = (typeof MODES)[number][0];

const MODES = [
  ['RGB', 3],
  ['RGBA', 4],
  ['L', 1],
] as const;

/** `[height, width]`, as in write_images.py. */
const RESIZED = [
  [7, 13],
  [9, 45],
] as const;

interface Result {
  readonly seen: { readonly pixels: number[][][]; readonly label: number }[];
  readonly dtypes: string[];
  readonly leaked: number;
  readonly failures: { batches: number; code?: string; message?: string }[];
}

const IMAGES = 22;
const AT_START = { seed: 0, epoch: 0 };
let root: string;
let expected: Expected;
beforeAll(async () => {
  root = await mkdtemp(join(tmpdir(), 'acc-images-'));
  const { bin } = await venv('columnar');
  await promisify(execFile)(bin('python'), [join(import.meta.dirname, 'python', 'write_images.py'), root]);
  expected = JSON.parse(await readFile(join(root, 'expected.json'), 'utf8')) as Expected;
});
afterAll(() => rm(root, { recursive: true }));

async function read(options: ImageFolderOptions): Promise<ImageSample[]> {
  const images = await imageFolder(join(root, 'kinds'), options);
  return Promise.all(Array.from({ length: images.length }, (_, i) => images.get(i, AT_START)));
}

describe('imageFolder', () => {
  it('has the classes and the order of torchvision', async () => {
    const { classes, labels, nameOf } = await imageFolder(join(root, 'kinds'));
    expect(classes).toEqual(expected.classes);
    const samples = [...labels].map((label, i) => [relative(root, nameOf(i)), label]);
    expect(samples).toEqual(expected.samples.map(([path, label]) => [relative(root, path), label]));
  });

  it.each(MODES)('reads the pixels that Pillow reads in mode %s', async (mode, channels) => {
    const samples = await read({ channels, dtype: 'uint8' });
    expect(samples).toHaveLength(7);
    samples.forEach(({ image }, i) => {
      const name = expected.samples[i]![0];
      const pixels = expected.pixels[i]![mode];
      expect(image.shape, name).toEqual([20, 28, channels]);
      expect(largestDifference(image.data, pixels), name).toBeLessThanOrEqual(roundingOf(name));
    });
  });

  it.each(MODES)('resizes to the bytes of Pillow in mode %s', async (mode, channels) => {
    for (const [i, resize] of RESIZED.entries()) {
      const samples = await read({ channels, resize, dtype: 'uint8' });
      samples.forEach(({ image }, sample) => {
        const [name] = expected.samples[sample]!;
        expect(image.shape, name).toEqual([...resize, channels]);
        const pixels = expected.pixels[sample]!.resized[mode][i]!;
        expect(largestDifference(image.data, pixels), name).toBeLessThanOrEqual(roundingOf(name));
      });
    }
  });

  it('crops and mirrors what it resized', async () => {
    const [height, width] = RESIZED[1];
    const samples = await read({ resize: [height, width], crop: [3, 5], randomFlip: 1, dtype: 'uint8' });
    samples.forEach(({ image }, sample) => {
      const [name] = expected.samples[sample]!;
      const whole = expected.pixels[sample]!.resized.RGB[1]!;
      const at = (y: number, x: number) => whole.slice(3 * (y * width + x), 3 * (y * width + x + 1));
      const pixels = [3, 4, 5].flatMap((y) => [24, 23, 22, 21, 20].flatMap((x) => at(y, x)));
      expect(image.shape, name).toEqual([3, 5, 3]);
      expect(largestDifference(image.data, pixels), name).toBeLessThanOrEqual(roundingOf(name));
    });
  });

  it('normalises, crops the centre, and keeps the ratio of the sides', async () => {
    const [whole] = await read({ mean: [0.5, 0.25, 0], std: [0.5, 2, 1] });
    const bytes = expected.pixels[0]!.RGB;
    const mean = [0.5, 0.25, 0];
    const std = [0.5, 2, 1];
    expect([...whole!.image.data]).toEqual(
      bytes.map((byte, i) => Math.fround((byte / 255 - mean[i % 3]!) / std[i % 3]!)),
    );
    const [cropped] = await read({ crop: [2, 4], channels: 1, dtype: 'uint8' });
    const luma = expected.pixels[0]!.L;
    expect([...cropped!.image.data]).toEqual([9, 10].flatMap((y) => luma.slice(28 * y + 12, 28 * y + 16)));
    const [resized] = await read({ resize: 10 });
    expect(resized!.image.shape).toEqual([10, 14, 3]);
    await expect(read({ crop: 21 })).rejects.toMatchObject({ code: 'ACC_DATA_SAMPLE' });
  });

  it('augments each sample anew in each epoch, and alike when asked again', async () => {
    const options = { randomCrop: { padding: 4 }, crop: 16, randomFlip: true } as const;
    const images = await imageFolder(join(root, 'many'), options);
    const draws = await Promise.all(
      [0, 1, 2, 0].map(async (epoch) => String((await images.get(3, { seed: 1, epoch })).image.data)),
    );
    expect(new Set(draws).size).toBe(3);
    expect(draws[3]).toBe(draws[0]);
  });
});

const OPTIONS: readonly ImageFolderOptions[] = [
  { randomResizedCrop: true, crop: [8, 10], randomFlip: true, mean: [0.5, 0.5, 0.5], std: [0.2, 0.2, 0.2] },
];

describe('imageFolder with workers', () => {
  it.each(OPTIONS)('gives the same images on 1, 2 and 3 ranks, and after a resume', async (options) => {
    const images = await imageFolder(join(root, 'many'), options);
    const order = [...permutation(IMAGES, 5, 0)];
    const samples = await Promise.all(order.map((i) => images.get(i, { seed: 5, epoch: 0 })));
    const whole = samples.map(({ image, label }) => ({ pixels: [...image.data], label: label.data[0] }));
    for (const ranks of [2, 1, 3]) {
      const mode = ranks === 2 ? 'save' : 'go-on';
      const args = { mode, folder: join(root, 'state'), root, options };
      const module = new URL('./ranks/images.ts', import.meta.url);
      const results = await onRanks<Result>({ module, ranks, args, env: { OMP_NUM_THREADS: '1' } });
      for (const [rank, { seen, dtypes, leaked, failures }] of results.entries()) {
        const got = seen.map(({ pixels, label }) => ({ pixels: pixels.flat(2), label }));
        expect(got).toEqual(ranks === 2 ? whole.slice(0, 12) : whole.slice(12));
        expect(dtypes).toEqual(['float32', 'int32']);
        expect(leaked).toBe(0);
        expect(failures).toHaveLength(ranks === 2 && rank === 0 ? 3 : 0);
        for (const failure of failures) {
          expect(failure).toMatchObject({ batches: 1, code: 'ACC_DATA_SAMPLE' });
          expect(failure.message).toContain(join(root, 'broken', 'only', '2.jpg'));
        }
      }
    }
  });
});

function largestDifference(a: ArrayLike<number>, b: readonly number[]): number {
  expect(a.length).toBe(b.length);
  return b.reduce((most, value, i) => Math.max(most, Math.abs(value - a[i]!)), 0);
}

/** Decoders of JPEG may round differently; other formats are lossless. */
function roundingOf(name: string): number {
  return /jpe?g$/.test(name) ? 3 : 0;
}
