import { crc32, deflate, deflateAside } from '@acc/platform';

/**
 * Rows from top to bottom, pixels from left to right, with 1 (grey), 2 (grey and alpha), 3 (RGB) or
 * 4 (RGBA) bytes each.
 */
export interface Pixels {
  readonly width: number;
  readonly height: number;
  readonly channels: number;
  readonly data: Uint8Array;
}

const SIGNATURE = [0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a];
/** PNG's colour type, by the number of channels. */
const COLOUR_TYPES = { 1: 0, 2: 4, 3: 2, 4: 6 } as const;

/**
 * Encodes a PNG file (ISO 15948) synchronously. Node's zlib takes a third of the time of the
 * package fast-png, and can use a thread (see {@link encodePngAside}). fast-png would compress in
 * JavaScript, between two steps of the training.
 */
export function encodePng(pixels: Pixels): Uint8Array {
  return fileOf(pixels, deflate(scanlines(pixels)));
}

/** Encodes a PNG file and compresses it beside the program. */
export async function encodePngAside(pixels: Pixels): Promise<Uint8Array> {
  return fileOf(pixels, await deflateAside(scanlines(pixels)));
}

/** The width and height of a PNG file. Undefined for other files. */
export function sizeOfPng(file: Uint8Array): { width: number; height: number } | undefined {
  if (file.length < 33 || SIGNATURE.some((byte, i) => file[i] !== byte)) return undefined;
  const view = new DataView(file.buffer, file.byteOffset);
  return { width: view.getUint32(16), height: view.getUint32(20) };
}

/** The rows of pixels, each preceded by the number of its filter (0: none). */
function scanlines({ width, height, channels, data }: Pixels): Uint8Array {
  const rowBytes = width * channels;
  const lines = new Uint8Array(height * (rowBytes + 1));
  for (let y = 0; y < height; y++) {
    lines.set(data.subarray(y * rowBytes, (y + 1) * rowBytes), y * (rowBytes + 1) + 1);
  }
  return lines;
}

function fileOf({ width, height, channels }: Pixels, compressed: Uint8Array): Uint8Array {
  const header = new DataView(new ArrayBuffer(13));
  header.setUint32(0, width);
  header.setUint32(4, height);
  header.setUint8(8, 8);
  header.setUint8(9, COLOUR_TYPES[channels as 1 | 2 | 3 | 4]);
  const chunks = [
    Uint8Array.from(SIGNATURE),
    ...chunk('IHDR', new Uint8Array(header.buffer)),
    ...chunk('IDAT', compressed),
    ...chunk('IEND', new Uint8Array()),
  ];
  const file = new Uint8Array(chunks.reduce((sum, { length }) => sum + length, 0));
  let at = 0;
  for (const part of chunks) {
    file.set(part, at);
    at += part.length;
  }
  return file;
}

function chunk(type: string, data: Uint8Array): Uint8Array[] {
  const name = new TextEncoder().encode(type);
  return [fourBytes(data.length), name, data, fourBytes(crc32(data, crc32(name)))];
}

function fourBytes(value: number): Uint8Array {
  const bytes = new DataView(new ArrayBuffer(4));
  bytes.setUint32(0, value);
  return new Uint8Array(bytes.buffer);
}
