import { expect, it } from 'vitest';
import { maskedCrc32c } from './masked-crc32c.js';

const unmasked = (masked: number) => {
  const rotated = (masked - 0xa282ead8) >>> 0;
  return ((rotated << 15) | (rotated >>> 17)) >>> 0;
};

it.each([
  // RFC 3720, appendix B.4.
  [new Uint8Array(32), 0x8a9136aa],
  [new Uint8Array(32).fill(0xff), 0x62a8ab43],
  [Uint8Array.from({ length: 32 }, (_, i) => i), 0x46dd794e],
  [Uint8Array.from({ length: 32 }, (_, i) => 31 - i), 0x113fdb5c],
  [Buffer.from('123456789'), 0xe3069283],
  [new Uint8Array(0), 0],
])('computes the checksum of the standard, masked', (data, expected) => {
  expect(unmasked(maskedCrc32c(data))).toBe(expected);
});
