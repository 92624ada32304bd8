import { shaped, type ShapedArray } from '../samples/shaped-array.js';
import { pixelDecoder, type Channels, type JpegDecoder, type PixelDecoder } from '../images/decode-pixels.js';
import { MAX_PIXELS, fullImageBox, type RawImage } from '../images/raw-image.js';
import { resample } from '../images/resample.js';

/** How images become pixels. */
export interface ImageOptions {
  /** Resizes images to `[height, width]` in pixels, by bilinear interpolation with antialiasing. Default: their own size. */
  readonly resize?: readonly [height: number, width: number] | undefined;
  /** 3 (default): RGB, alpha is dropped. 4: RGBA. 1: luma by ITU-R BT.601. */
  readonly channels?: Channels | undefined;
  /** The decoder of JPEG files, as for `imageFolder`. Default `sharp`. */
  readonly jpegDecoder?: JpegDecoder | undefined;
  /** The largest number of pixels of an image, as for `imageFolder`. Default 89,478,485. */
  readonly maxPixels?: number | undefined;
}

/** The pixels of an encoded image, from 0 to 255: `[height, width, channels]`. */
export type DecodeImage = (bytes: Uint8Array) => Promise<ShapedArray>;

/** The package `sharp` is loaded with the first image. */
export function imageDecoder(options: ImageOptions): DecodeImage {
  const { resize, channels = 3, jpegDecoder = 'sharp', maxPixels = MAX_PIXELS } = options;
  let opened: Promise<PixelDecoder> | undefined;
  return async (bytes) => {
    opened ??= pixelDecoder('Decoding images', { channels, jpegDecoder, maxPixels });
    const image = await (await opened).decode(bytes);
    if (!resize) return shapedOf(image);
    const window = fullImageBox({ height: resize[0], width: resize[1] });
    return shapedOf(resample(image, { size: window, window, isMirrored: false, maxPixels }));
  };
}

function shapedOf({ data, height, width, channels }: RawImage): ShapedArray {
  return shaped(data, [height, width, channels]);
}
