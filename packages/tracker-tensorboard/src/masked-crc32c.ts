import CRC32C from 'crc-32/crc32c.js';

/** The CRC-32C of data as TFRecord files hold it: masked, so that the checksum of data that holds checksums is a good one. */
export function maskedCrc32c(data: Uint8Array): number {
  const crc = CRC32C.buf(data);
  return (((crc >>> 15) | (crc << 17)) + 0xa282ead8) >>> 0;
}
