/** The reversed polynomial of CRC-32C (Castagnoli). */
const POLYNOMIAL = 0x82f63b78;
/** Slicing by 8: table k has the remainders of a byte that k further bytes follow. */
const SLICES = 8;

let tables: Int32Array | undefined;

function makeTables(): Int32Array {
  const created = new Int32Array(SLICES * 256);
  for (let byte = 0; byte < 256; byte++) {
    let rest = byte;
    for (let bit = 0; bit < 8; bit++) rest = rest & 1 ? (rest >>> 1) ^ POLYNOMIAL : rest >>> 1;
    created[byte] = rest;
  }
  for (let i = 256; i < created.length; i++) {
    const shorter = created[i - 256]!;
    created[i] = (shorter >>> 8) ^ created[shorter & 255]!;
  }
  return created;
}

/** The CRC-32C of bytes (RFC 3720, appendix B.4), from 0 to 2^32 - 1. */
export function crc32c(bytes: Uint8Array): number {
  const t = (tables ??= makeTables());
  const { length } = bytes;
  const view = new DataView(bytes.buffer, bytes.byteOffset, length);
  let crc = -1;
  let at = 0;
  for (; at + 8 <= length; at += 8) {
    const low = crc ^ view.getInt32(at, true);
    const high = view.getInt32(at + 4, true);
    crc =
      t[1792 + (low & 255)]! ^
      t[1536 + ((low >>> 8) & 255)]! ^
      t[1280 + ((low >>> 16) & 255)]! ^
      t[1024 + (low >>> 24)]! ^
      t[768 + (high & 255)]! ^
      t[512 + ((high >>> 8) & 255)]! ^
      t[256 + ((high >>> 16) & 255)]! ^
      t[high >>> 24]!;
  }
  for (; at < length; at++) crc = (crc >>> 8) ^ t[(crc ^ bytes[at]!) & 255]!;
  return ~crc >>> 0;
}

/** The checksum of TFRecord: a CRC-32C that is rotated and shifted by a constant. */
export function maskedCrc32c(bytes: Uint8Array): number {
  const crc = crc32c(bytes);
  return (((crc >>> 15) | (crc << 17)) + 0xa282ead8) >>> 0;
}
