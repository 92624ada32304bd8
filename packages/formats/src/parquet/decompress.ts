import { brotliDecompressSync, gunzipSync, inflateRawSync } from 'node:zlib';
import type { CompressionCodec } from 'hyparquet';
import { compressors } from 'hyparquet-compressors';
import { checkLz4 } from './lz4.js';
import { checkZstd } from './zstd.js';

/** How much larger than its compressed bytes a page can be, and what short pages have more. */
const MOST: Partial<Readonly<Record<CompressionCodec, number>>> = {
  ...{ SNAPPY: 32, GZIP: 1_100, LZ4: 256, LZ4_RAW: 256, ZSTD: 2 ** 16, BROTLI: 2 ** 20 },
};
const MORE = 1024;

/**
 * The bytes of a page. What a page states is checked before memory is taken.
 *
 * @param bytes The size that its header states.
 * @throws RangeError, or the error of the decoder.
 */
export function decompress(codec: CompressionCodec, input: Uint8Array, bytes: number): Uint8Array {
  const page = codec === 'UNCOMPRESSED' ? input : decoded(codec, input, bytes);
  if (page.length === bytes) return page;
  throw new RangeError(`a page has ${page.length} bytes, and its header states ${bytes}`);
}

function decoded(codec: CompressionCodec, input: Uint8Array, bytes: number): Uint8Array {
  const most = MOST[codec];
  if (most === undefined) throw new RangeError(`the compression ${codec} is not supported`);
  if (bytes > most * input.length + MORE) {
    throw new RangeError(`a page of ${input.length} bytes states ${bytes} bytes without ${codec}`);
  }
  if (bytes === 0) return new Uint8Array(0);
  const limit = { maxOutputLength: bytes };
  if (codec === 'GZIP') return isGzip(input) ? gunzipSync(input, limit) : inflateRawSync(input, limit);
  if (codec === 'BROTLI') return brotliDecompressSync(input, limit);
  if (codec === 'ZSTD') checkZstd(input, bytes);
  if (codec === 'LZ4_RAW') checkLz4(input, bytes);
  return compressors[codec]!(input, bytes);
}

const isGzip = (input: Uint8Array) => input[0] === 0x1f && input[1] === 0x8b;
