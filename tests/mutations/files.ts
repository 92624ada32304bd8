import { createHash } from 'node:crypto';
import { crc32 } from 'node:zlib';

const BLOCK = 512;

/** Gives the headers of a tar file right checksums. */
export function repairTar(bytes: Buffer): Buffer {
  for (let at = 0; at + BLOCK <= bytes.length; at += BLOCK) {
    const block = bytes.subarray(at, at + BLOCK);
    if (block.toString('latin1', 257, 262) !== 'ustar') continue;
    block.write(' '.repeat(8), 148, 'latin1');
    const sum = block.reduce((total, byte) => total + byte, 0);
    block.write(`${sum.toString(8).padStart(6, '0')}\0 `, 148, 'latin1');
  }
  return bytes;
}

/** A tar file as Python's `tarfile` writes it. */
export function tarOf(
  members: readonly (readonly [name: string, content: Uint8Array | string, type?: string])[],
) {
  const blocks = members.flatMap(([name, given, type = '0']) => {
    const content = Buffer.from(given);
    const header = Buffer.alloc(BLOCK);
    header.write(name, 0, 'latin1');
    header.write(`${content.length.toString(8).padStart(11, '0')}\0`, 124, 'latin1');
    header.write(`${type}ustar\x0000`, 156, 'latin1');
    header.write('ustar\x0000', 257, 'latin1');
    const padding = Buffer.alloc((BLOCK - (content.length % BLOCK)) % BLOCK);
    return [header, content, padding];
  });
  return repairTar(Buffer.concat([...blocks, Buffer.alloc(2 * BLOCK)]));
}

const CASTAGNOLI = 0x82f63b78;

function maskedCrc32c(bytes: Uint8Array): number {
  let sum = ~0;
  for (const byte of bytes) {
    sum ^= byte;
    for (let bit = 0; bit < 8; bit++) sum = (sum >>> 1) ^ (sum & 1 ? CASTAGNOLI : 0);
  }
  sum = ~sum >>> 0;
  return (((sum >>> 15) | (sum << 17)) + 0xa282ead8) >>> 0;
}

/** Gives the records of a TFRecord file right checksums, as far as their lengths lead. */
export function repairRecords(bytes: Buffer): Buffer {
  for (let at = 0; at + 16 <= bytes.length;) {
    const length = Number(bytes.readBigUInt64LE(at));
    bytes.writeUInt32LE(maskedCrc32c(bytes.subarray(at, at + 8)), at + 8);
    const end = at + 12 + length;
    if (end + 4 > bytes.length) break;
    bytes.writeUInt32LE(maskedCrc32c(bytes.subarray(at + 12, end)), end);
    at = end + 4;
  }
  return bytes;
}

export function recordsOf(records: readonly Uint8Array[]): Buffer {
  const parts = records.map((record) => {
    const bytes = Buffer.alloc(record.length + 16);
    bytes.writeBigUInt64LE(BigInt(record.length));
    bytes.set(record, 12);
    return bytes;
  });
  return repairRecords(Buffer.concat(parts));
}

/** Gives the chunks of a PNG file right checksums, as far as their lengths lead. */
export function repairPng(bytes: Buffer): Buffer {
  for (let at = 8; at + 12 <= bytes.length;) {
    const end = at + 8 + bytes.readUInt32BE(at);
    if (end + 4 > bytes.length) break;
    bytes.writeUInt32BE(crc32(bytes.subarray(at + 4, end)), end);
    at = end + 4;
  }
  return bytes;
}

export const crc32Hex = (bytes: Uint8Array): string => crc32(bytes).toString(16).padStart(8, '0');

/** A seed for each mutation of each format. */
export function seedOf(...parts: readonly (string | number)[]): number {
  return createHash('sha256').update(parts.join(' ')).digest().readInt32LE();
}
