import type { RawImage } from './raw-image.js';

/**
 * Calls `change` with the colours of an RGBA image multiplied by their alpha, and divides the
 * colours of the result, so that transparent pixels have no weight. Rounded as by Pillow
 * (libImaging/Convert.c).
 */
export function withPremultiplied(image: RawImage, change: (image: RawImage) => RawImage): RawImage {
  const data = image.data.slice();
  eachPixel(data, (colour, alpha) => {
    const product = colour * alpha + 128;
    return ((product >> 8) + product) >> 8;
  });
  const changed = change({ ...image, data });
  eachPixel(changed.data, (colour, alpha) =>
    alpha === 0 || alpha === 255 ? colour : Math.min(Math.trunc((255 * colour) / alpha), 255),
  );
  return changed;
}

function eachPixel(data: Uint8Array, change: (colour: number, alpha: number) => number): void {
  for (let i = 0; i < data.length; i += 4) {
    const alpha = data[i + 3]!;
    for (let channel = i; channel < i + 3; channel++) data[channel] = change(data[channel]!, alpha);
  }
}
