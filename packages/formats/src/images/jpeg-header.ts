import type { ImageExtent } from './raw-image.js';

/** The frame header of a JPEG file. */
export interface JpegHeader extends ImageExtent {
  /** 1: grey. 3: colours. 4: CMYK. */
  readonly components: number;
  /** The first byte behind it. */
  readonly end: number;
}

/** The markers of JPEG (ITU-T T.81, table B.1). */
const START_OF_IMAGE = 0xffd8;
const END_OF_IMAGE = Buffer.of(0xff, 0xd9);
const isFrameHeader = (marker: number) =>
  marker >= 0xffc0 && marker <= 0xffcf && ![0xffc4, 0xffc8, 0xffcc].includes(marker);
const isAlone = (marker: number) => (marker >= 0xffd0 && marker <= 0xffd7) || marker === 0xff01;

/**
 * Reads the frame header of a JPEG file. Asking sharp takes a tenth of the time of decoding a
 * photograph.
 *
 * @returns undefined if this is no JPEG file, or not a usual one.
 */
export function jpegHeader(bytes: Uint8Array): JpegHeader | undefined {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  if (bytes.length < 4 || view.getUint16(0) !== START_OF_IMAGE) return undefined;
  for (let at = 2; at + 10 <= bytes.length;) {
    const marker = view.getUint16(at);
    if (marker < 0xff01) return undefined;
    if (marker === 0xffff) {
      at++;
    } else if (isFrameHeader(marker)) {
      const [height, width] = [view.getUint16(at + 5), view.getUint16(at + 7)];
      const end = at + 2 + view.getUint16(at + 2);
      return height > 0 && width > 0 ? { height, width, components: view.getUint8(at + 9), end } : undefined;
    } else {
      at += isAlone(marker) ? 2 : 2 + view.getUint16(at + 2);
    }
  }
  return undefined;
}

/** Whether the image ends. Within its data, the marker of the end cannot occur. */
export function isComplete(bytes: Uint8Array, { end }: JpegHeader): boolean {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).lastIndexOf(END_OF_IMAGE) >= end;
}
