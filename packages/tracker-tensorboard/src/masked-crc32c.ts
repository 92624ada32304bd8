import CRC32C from 'crc-32/crc32c.js';

/**
 * The masked CRC-32C of data, as TFRecord files store it. The mask keeps checksums useful for data
 * that contains checksums itself.
 */
export function maskedCrc32c(data: Uint8Array): number {
  const crc = CRC32C.buf(data);
  return (((crc >>> 15) | (crc << 17)) + 0xa282ead8) >>> 0;
}
