/** The remainders of all bytes, four bytes ahead (slicing by four). */
let tables: Uint32Array[] | undefined;

/** The CRC-32 of bytes that follow those of `before` (ISO 3309). */
export function crc32(bytes: Uint8Array, before = 0): number {
  const [a, b, c, d] = (tables ??= makeTables()) as [Uint32Array, Uint32Array, Uint32Array, Uint32Array];
  let crc = ~before;
  let i = 0;
  for (; i + 4 <= bytes.length; i += 4) {
    crc ^= bytes[i]! | (bytes[i + 1]! << 8) | (bytes[i + 2]! << 16) | (bytes[i + 3]! << 24);
    crc = d[crc & 255]! ^ c[(crc >>> 8) & 255]! ^ b[(crc >>> 16) & 255]! ^ a[crc >>> 24]!;
  }
  for (; i < bytes.length; i++) crc = a[(crc ^ bytes[i]!) & 255]! ^ (crc >>> 8);
  return ~crc >>> 0;
}

function makeTables(): Uint32Array[] {
  const created = Array.from({ length: 4 }, () => new Uint32Array(256));
  for (let byte = 0; byte < 256; byte++) {
    let crc = byte;
    for (let bit = 0; bit < 8; bit++) crc = crc & 1 ? 0xedb88320 ^ (crc >>> 1) : crc >>> 1;
    created[0]![byte] = crc;
  }
  for (let k = 1; k < 4; k++) {
    for (let byte = 0; byte < 256; byte++) {
      const last = created[k - 1]![byte]!;
      created[k]![byte] = created[0]![last & 255]! ^ (last >>> 8);
    }
  }
  return created;
}

/** The most bytes of a block that is stored as it is. */
const BLOCK_BYTES = 0xffff;

/**
 * Data in zlib's format (RFC 1950). A page compresses only asynchronously, so the data is stored as
 * it is.
 */
export function deflate(bytes: Uint8Array): Uint8Array {
  const blocks = Math.max(1, Math.ceil(bytes.length / BLOCK_BYTES));
  const out = new Uint8Array(2 + 5 * blocks + bytes.length + 4);
  const view = new DataView(out.buffer);
  view.setUint16(0, 0x7801);
  let at = 2;
  for (let k = 0; k < blocks; k++) {
    const block = bytes.subarray(k * BLOCK_BYTES, (k + 1) * BLOCK_BYTES);
    out[at] = k === blocks - 1 ? 1 : 0;
    view.setUint16(at + 1, block.length, true);
    view.setUint16(at + 3, ~block.length, true);
    out.set(block, at + 5);
    at += 5 + block.length;
  }
  view.setUint32(at, adler32(bytes));
  return out;
}

/** As {@link deflate}, compressed by the browser beside the page's program. */
export async function deflateAside(bytes: Uint8Array): Promise<Uint8Array> {
  const stream = new Blob([bytes as Uint8Array<ArrayBuffer>]).stream();
  return new Uint8Array(
    await new Response(stream.pipeThrough(new CompressionStream('deflate'))).arrayBuffer(),
  );
}

/** The checksum of zlib's format. */
function adler32(bytes: Uint8Array): number {
  let [low, high] = [1, 0];
  for (let i = 0; i < bytes.length; i++) {
    low += bytes[i]!;
    high += low;
    // The sums stay below 2^53 for this many bytes.
    if ((i & 0xfff) === 0xfff) [low, high] = [low % 65_521, high % 65_521];
  }
  return (((high % 65_521) << 16) | (low % 65_521)) >>> 0;
}
