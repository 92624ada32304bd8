/** Castagnoli's polynomial, reflected; Node's `zlib.crc32` is another. */
const POLYNOMIAL = 0x82f63b78;
const SLICES = 8;

let tables: Uint32Array[] | undefined;

/** Table k has the checksum of a byte with k zeros behind it. */
function makeTables(): Uint32Array[] {
  const first = new Uint32Array(256);
  for (let byte = 0; byte < 256; byte++) {
    let crc = byte;
    for (let bit = 0; bit < 8; bit++) crc = crc & 1 ? (crc >>> 1) ^ POLYNOMIAL : crc >>> 1;
    first[byte] = crc;
  }
  const made = [first];
  for (let k = 1; k < SLICES; k++) {
    made.push(first.map((_, byte) => (made[k - 1]![byte]! >>> 8) ^ first[made[k - 1]![byte]! & 255]!));
  }
  return made;
}

/** CRC-32C (RFC 3720, appendix B.4), eight bytes at a time ("slicing by 8", Kounavis and Berry, 2008). */
export function crc32c(data: Uint8Array): number {
  const [t0, t1, t2, t3, t4, t5, t6, t7] = (tables ??= makeTables()) as [
    Uint32Array,
    Uint32Array,
    Uint32Array,
    Uint32Array,
    Uint32Array,
    Uint32Array,
    Uint32Array,
    Uint32Array,
  ];
  let crc = 0xffffffff;
  let i = 0;
  for (const end = data.length - 7; i < end; i += SLICES) {
    const low = crc ^ (data[i]! | (data[i + 1]! << 8) | (data[i + 2]! << 16) | (data[i + 3]! << 24));
    crc =
      t7[low & 255]! ^
      t6[(low >>> 8) & 255]! ^
      t5[(low >>> 16) & 255]! ^
      t4[low >>> 24]! ^
      t3[data[i + 4]!]! ^
      t2[data[i + 5]!]! ^
      t1[data[i + 6]!]! ^
      t0[data[i + 7]!]!;
  }
  for (; i < data.length; i++) crc = (crc >>> 8) ^ t0[(crc ^ data[i]!) & 255]!;
  return (crc ^ 0xffffffff) >>> 0;
}

/** As TFRecord files hold it, so that a checksum of data with checksums in it stays one. */
export function maskedCrc32c(data: Uint8Array): number {
  const crc = crc32c(data);
  return (((crc >>> 15) | (crc << 17)) + 0xa282ead8) >>> 0;
}
