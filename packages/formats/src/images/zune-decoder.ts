import { isMainThread } from 'node:worker_threads';
import { packageMissing } from '../errors.js';
import { isComplete, jpegHeader } from './jpeg-header.js';
import { fullImageBox, type Box, type RawImage } from './raw-image.js';

/** Undefined: the file is not one of those that the decoder is for. */
type DecodeJpeg = (bytes: Uint8Array, part?: Box) => Promise<RawImage | undefined>;

/**
 * The decoder of JPEG files in colours of the package `@napi-rs/image`, zune-jpeg. It rounds chroma
 * that was stored at half the size otherwise than libjpeg, which sharp and Pillow use.
 *
 * @throws AccError `ACC_DATA_PACKAGE`.
 */
export async function zuneDecoder(): Promise<DecodeJpeg> {
  const { Transformer } = await load();
  return async (bytes, part) => {
    const header = jpegHeader(bytes);
    if (header?.components !== 3) return undefined;
    // zune-jpeg fills the missing part of a file with grey.
    if (!isComplete(bytes, header)) throw new RangeError('it is cut off: the marker of its end is missing');
    const { top, left, height, width } = part ?? fullImageBox(header);
    const image = new Transformer(bytes).crop(left, top, width, height);
    // A worker thread has nothing else to do. In the main thread, threads of Node decode.
    const data = isMainThread ? await image.rawPixels() : image.rawPixelsSync();
    return {
      data: new Uint8Array(data.buffer, data.byteOffset, data.byteLength),
      height,
      width,
      channels: 3,
    };
  };
}

async function load(): Promise<typeof import('@napi-rs/image')> {
  try {
    return await import('@napi-rs/image');
  } catch (cause) {
    throw packageMissing('@napi-rs/image', "jpegDecoder: '@napi-rs/image'", cause);
  }
}
