import { constants, crc32, deflate, deflateSync } from 'node:zlib';

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
const FAST = { level: constants.Z_BEST_SPEED };

/**
 * Encodes a PNG file (ISO 15948) synchronously. Node's zlib takes a third of the time of the
 * package fast-png, and can use a thread (see {@link encodePngAside}). fast-png would compress in
 * JavaScript, between two steps of the training.
 */
export function encodePng(pixels: Pixels): Uint8Array {
  return fileOf(pixels, deflateSync(scanlines(pixels), FAST));
}

/** Encodes a PNG file and compresses it on a thread. */
export function encodePngAside(pixels: Pixels): Promise<Uint8Array> {
  return new Promise((resolve, reject) => {
    deflate(scanlines(pixels), FAST, (error, data) =>
      error ? reject(error) : resolve(fileOf(pixels, data)),
    );
  });
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
  const header = Buffer.alloc(13);
  header.writeUInt32BE(width, 0);
  header.writeUInt32BE(height, 4);
  header.set([8, COLOUR_TYPES[channels as 1 | 2 | 3 | 4], 0, 0, 0], 8);
  return Buffer.concat([
    Uint8Array.from(SIGNATURE),
    ...chunk('IHDR', header),
    ...chunk('IDAT', compressed),
    ...chunk('IEND', new Uint8Array()),
  ]);
}

function chunk(type: string, data: Uint8Array): Uint8Array[] {
  const [length, name, crc] = [Buffer.alloc(4), Buffer.from(type, 'latin1'), Buffer.alloc(4)];
  length.writeUInt32BE(data.length);
  crc.writeUInt32BE(crc32(data, crc32(name)));
  return [length, name, data, crc];
}
