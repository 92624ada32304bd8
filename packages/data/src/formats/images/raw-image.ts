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

/** The whole image, as a box. */
export function wholeOf({ height, width }: ImageExtent): Box {
  return { top: 0, left: 0, height, width };
}
