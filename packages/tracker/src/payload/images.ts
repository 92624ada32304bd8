import type { Tensor } from '@tensorflow/tfjs-core';
import { invalidValue } from '../errors.js';
import { Picture } from './picture.js';
import { sizeOfPng } from './png.js';
import { isTensor, requireRecord, show, valuesOf } from './values.js';

/**
 * A tensor `[height, width]`, `[height, width, channels]` or `[n, height, width, channels]` with 1
 * to 4 channels, of floats from 0 to 1 or integers from 0 to 255. Or pixel bytes like a canvas's
 * `ImageData`. Or the bytes of a PNG file.
 */
export type ImageInput =
  | Tensor
  | { readonly width: number; readonly height: number; readonly data: Uint8Array | Uint8ClampedArray }
  | Uint8Array;

export type ImageInputs = Readonly<Record<string, ImageInput | readonly ImageInput[]>>;

/**
 * Converts images to pictures by name. Several images under one name get the name and a number.
 * Tensors are read and not disposed.
 *
 * @throws AccError `ACC_INVALID_ARGUMENT`.
 */
export function takeImages(images: ImageInputs): [key: string, picture: Picture][] {
  requireRecord('logImages', images, 'logImages({ input: image })');
  return Object.entries(images).flatMap(([key, input]) => {
    const inputs = Array.isArray(input) ? (input as readonly ImageInput[]) : [input as ImageInput];
    const pictures = inputs.flatMap((one) => picturesOf(key, one));
    const isOne = pictures.length === 1;
    return pictures.map((picture, i): [string, Picture] => [isOne ? key : `${key}/${i}`, picture]);
  });
}

function picturesOf(key: string, input: ImageInput): Picture[] {
  if (isTensor(input)) return fromTensor(key, input);
  if (input instanceof Uint8Array) {
    const size = sizeOfPng(input);
    if (!size)
      throw refuse(key, 'these bytes are not a PNG file', 'Give other formats as pixels or as a tensor.');
    return [new Picture({ ...size, png: input.slice() })];
  }
  if (typeof input !== 'object' || input === null || !('data' in input)) {
    throw refuse(
      key,
      `${show(input)} is not an image`,
      'Give a tensor, { width, height, data } or a PNG file.',
    );
  }
  const { width, height, data } = input;
  const channels = data.length / (width * height);
  if (![1, 2, 3, 4].includes(channels)) {
    throw refuse(
      key,
      `${data.length} bytes are not ${width} x ${height} pixels`,
      'Give 1 to 4 bytes per pixel.',
    );
  }
  return [new Picture({ width, height, channels, data: Uint8Array.from(data) })];
}

function fromTensor(key: string, tensor: Tensor): Picture[] {
  const shape =
    tensor.rank === 2 ? [1, ...tensor.shape, 1] : [...(tensor.rank === 3 ? [1] : []), ...tensor.shape];
  const [count, height, width, channels] = shape as [number, number, number, number];
  if (shape.length !== 4 || ![1, 2, 3, 4].includes(channels)) {
    throw refuse(
      key,
      `${show(tensor)} is not an image`,
      'Give [height, width, 1 to 4 channels], or several in [n, …].',
    );
  }
  const bytes = bytesFrom(valuesOf('logImages', key, tensor), tensor.dtype);
  const size = width * height * channels;
  return Array.from({ length: count }, (_, i) => {
    return new Picture({ width, height, channels, data: bytes.subarray(i * size, (i + 1) * size) });
  });
}

function bytesFrom(values: ArrayLike<number>, dtype: string): Uint8Array {
  // Clamped arrays round to the nearest integer, clamp to 0 to 255, and map NaN to 0, as images
  // need.
  const bytes = new Uint8ClampedArray(values.length);
  const scale = dtype === 'int32' ? 1 : 255;
  for (let i = 0; i < bytes.length; i++) bytes[i] = values[i]! * scale;
  return new Uint8Array(bytes.buffer);
}

const refuse = (key: string, problem: string, help: string) =>
  invalidValue('logImages', `'${key}': ${problem}`, help);
