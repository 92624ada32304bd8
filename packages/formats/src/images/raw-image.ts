export interface ImageExtent {
  readonly height: number;
  readonly width: number;
}

/** A part of an image, in pixels. It may begin before the image, and end behind it. */
export interface Box extends ImageExtent {
  readonly top: number;
  readonly left: number;
}

/** Decoded pixels: bytes `[height, width, channels]`. */
export interface RawImage extends ImageExtent {
  readonly data: Uint8Array;
  readonly channels: number;
}

/** The default of `maxPixels`: the size at which Pillow warns of a decompression bomb. */
export const MAX_PIXELS = 89_478_485;

/** @throws RangeError if an image has more pixels than the option `maxPixels` says. */
export function requirePixels(what: string, { height, width }: ImageExtent, maxPixels: number): void {
  if (height * width <= maxPixels) return;
  throw new RangeError(
    `${what} has ${height} × ${width} pixels, which is more than the option maxPixels (${maxPixels})`,
  );
}

/** The whole image, as a box. */
export function fullImageBox({ height, width }: ImageExtent): Box {
  return { top: 0, left: 0, height, width };
}
