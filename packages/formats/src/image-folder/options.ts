import { AccError, parseOptions } from '@acc/contract';
import * as z from 'zod';
import { jpegDecoder, maxPixels, type DecoderOptions, type JpegDecoder } from '../images/decode-pixels.js';

/** `[height, width]` in pixels. A number: both. */
export type ImageSize = number | readonly [height: number, width: number];

/** How a file becomes pixels. The steps are taken in the order of the options. */
export interface PixelOptions {
  /**
   * Cuts out a random part of the image, and resizes it to `crop`: the training augmentation of
   * Inception and ResNet (C. Szegedy et al., Going deeper with convolutions, 2015). `scale` is the
   * range of the part's share of the area, default `[0.08, 1]`; `ratio` that of its width divided
   * by its height, default `[3 / 4, 4 / 3]`.
   */
  readonly randomResizedCrop?:
    true | { readonly scale?: readonly [number, number]; readonly ratio?: readonly [number, number] };
  /**
   * Resizes the image by bilinear interpolation, with antialiasing. A number: the length of the
   * shorter side, the ratio of the sides is kept. A pair: exactly this size.
   */
  readonly resize?: ImageSize;
  /** Cuts out a part of this size, by default from the centre. */
  readonly crop?: ImageSize;
  /** Cuts `crop` out at a random place, after `padding` black pixels (default 0) were added to every side. */
  readonly randomCrop?: true | { readonly padding?: number };
  /** Mirrors images, left to right, with this probability. True: 0.5. */
  readonly randomFlip?: boolean | number;
  /**
   * 3 (default): RGB, alpha is dropped. 4: RGBA. 1: luma by ITU-R BT.601, as Pillow's mode `L`.
   * Colour profiles and orientation tags are ignored.
   */
  readonly channels?: 1 | 3 | 4;
  /**
   * `float32` (default): from 0 to 1, before `mean` and `std`. `uint8`: from 0 to 255, in a tensor
   * of the dtype int32, because tfjs has no smaller one.
   */
  readonly dtype?: 'float32' | 'uint8';
  /** Subtracted from each channel, in units of `float32` pixels. Default 0. */
  readonly mean?: readonly number[];
  /** Divides each channel after `mean` was subtracted. Default 1. */
  readonly std?: readonly number[];
  /**
   * The decoder of JPEG files in colours. `sharp` (default): the bytes are those of Pillow.
   * `@napi-rs/image`: this package, which takes half the time. Where chroma is stored at half the
   * size, its bytes differ from these by 0.4 of 255 on average.
   */
  readonly jpegDecoder?: JpegDecoder;
  /**
   * The largest number of pixels of an image, before and after it is resized. Default 89,478,485, at
   * which Pillow warns. An image that is much longer than wide becomes large by `resize: number`.
   */
  readonly maxPixels?: number;
}

export interface ImageFolderOptions extends PixelOptions {
  /**
   * The classes in the order of their labels. Use those of the training images for validation: a
   * folder without images of some class would count labels differently. Default: the names of all
   * folders, sorted.
   */
  readonly classes?: readonly string[];
  /** The endings of image files, in lower case. Other files are ignored. Default `jpg`, `jpeg`, `png`, `webp`. */
  readonly extensions?: readonly string[];
}

const pixels = z.int().positive();
const size = z.union([pixels, z.tuple([pixels, pixels])]);
const range = z.tuple([z.number().positive(), z.number().positive()]);

const schema = z.object({
  randomResizedCrop: z
    .union([
      z.literal(true),
      z.strictObject({ scale: range.default([0.08, 1]), ratio: range.default([3 / 4, 4 / 3]) }),
    ])
    .optional(),
  resize: size.optional(),
  crop: size.optional(),
  randomCrop: z
    .union([z.literal(true), z.strictObject({ padding: z.int().nonnegative().default(0) })])
    .optional(),
  randomFlip: z.union([z.boolean(), z.number().min(0).max(1)]).default(false),
  channels: z.union([z.literal(1), z.literal(3), z.literal(4)]).default(3),
  dtype: z.enum(['float32', 'uint8']).default('float32'),
  mean: z.array(z.number()).optional(),
  std: z.array(z.number().positive()).optional(),
  jpegDecoder,
  maxPixels,
  classes: z.array(z.string()).min(1).optional(),
  extensions: z.array(z.string()).min(1).default(['jpg', 'jpeg', 'png', 'webp']),
});

/** Complete options. Plain values, so that they can be sent to worker threads. */
export interface PixelPlan extends DecoderOptions {
  readonly resized:
    { readonly scale: readonly [number, number]; readonly ratio: readonly [number, number] } | undefined;
  /** A number: the length of the shorter side. */
  readonly resize: ImageSize | undefined;
  readonly crop: readonly [height: number, width: number] | undefined;
  /** Undefined: from the centre. */
  readonly padding: number | undefined;
  readonly flip: number;
  readonly dtype: 'float32' | 'uint8';
  readonly mean: readonly number[];
  readonly std: readonly number[];
}

export interface FolderPlan {
  readonly pixels: PixelPlan;
  readonly classes: readonly string[] | undefined;
  readonly extensions: readonly string[];
}

/** @throws AccError `ACC_UNKNOWN_OPTION`, `ACC_INVALID_OPTION`. */
export function resolveOptions(options: ImageFolderOptions): FolderPlan {
  const given = parseOptions('imageFolder', schema, options);
  const { randomResizedCrop, randomCrop, channels, dtype } = given;
  if (randomResizedCrop && (given.resize ?? randomCrop)) {
    throw conflict('randomResizedCrop', "takes the place of 'resize' and 'randomCrop'");
  }
  for (const name of ['randomResizedCrop', 'randomCrop'] as const) {
    if (given[name] && given.crop === undefined) throw conflict(name, "needs the size 'crop'");
  }
  for (const name of ['mean', 'std'] as const) {
    const length = given[name]?.length;
    if (length === undefined) continue;
    if (dtype === 'uint8') throw conflict(name, "applies to the dtype 'float32' only");
    if (length !== channels) throw conflict(name, `has ${length} numbers for ${channels} channels`);
  }
  return {
    pixels: {
      resized: randomResizedCrop && ranges(randomResizedCrop),
      resize: given.resize,
      crop: given.crop === undefined ? undefined : pair(given.crop),
      padding: randomCrop && (randomCrop === true ? 0 : randomCrop.padding),
      flip: given.randomFlip === true ? 0.5 : Number(given.randomFlip),
      channels,
      jpegDecoder: given.jpegDecoder,
      maxPixels: given.maxPixels,
      dtype,
      mean: given.mean ?? new Array<number>(channels).fill(0),
      std: given.std ?? new Array<number>(channels).fill(1),
    },
    classes: given.classes,
    extensions: given.extensions,
  };
}

type Ranges = NonNullable<PixelPlan['resized']>;

function ranges(given: true | Ranges): Ranges {
  const { scale, ratio } =
    given === true ? { scale: [0.08, 1] as const, ratio: [3 / 4, 4 / 3] as const } : given;
  for (const [name, [low, high]] of Object.entries({ scale, ratio })) {
    if (low > high) throw conflict('randomResizedCrop', `has a '${name}' from ${low} to ${high}`);
  }
  return { scale, ratio };
}

function pair(size: ImageSize): readonly [number, number] {
  return typeof size === 'number' ? [size, size] : size;
}

function conflict(option: string, why: string): AccError {
  return new AccError('ACC_INVALID_OPTION', `imageFolder: '${option}' ${why}.`, {
    help: `Correct '${option}', or leave it out.`,
    details: { path: [option] },
  });
}
