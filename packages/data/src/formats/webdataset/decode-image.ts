import { shaped, type ShapedArray } from '../../shaped-array.js';
import { loadSharp } from '../load-sharp.js';

/** How images become pixels. */
export interface ImageOptions {
  /** Resizes images to `[height, width]` in pixels, by bilinear interpolation. Default: their own size. */
  readonly resize?: readonly [height: number, width: number] | undefined;
  /** 3 (default): RGB. 4: RGBA. 1: grey. */
  readonly channels?: 1 | 3 | 4 | undefined;
}

/** The pixels of an encoded image, from 0 to 255: `[height, width, channels]`. */
export type DecodeImage = (bytes: Uint8Array) => Promise<ShapedArray>;

/** The package `sharp` is loaded with the first image. */
export function imageDecoder({ resize, channels = 3 }: ImageOptions): DecodeImage {
  return async (bytes) => {
    const sharp = await loadSharp('Decoding images');
    let image = sharp(bytes, { ignoreIcc: true });
    if (resize) {
      const [height, width] = resize;
      image = image.resize({ height, width, fit: 'fill', kernel: 'linear', fastShrinkOnLoad: false });
    }
    image = channels === 4 ? image.ensureAlpha() : image.removeAlpha();
    image = image.toColourspace(channels === 1 ? 'b-w' : 'srgb');
    const { data, info } = await image.raw().toBuffer({ resolveWithObject: true });
    return shaped(new Uint8Array(data), [info.height, info.width, info.channels]);
  };
}
