import { expect, it } from 'vitest';
import { crc32c } from './crc32c.js';

it.each([
  // RFC 3720, appendix B.4.
  [new Uint8Array(32), 0x8a9136aa],
  [new Uint8Array(32).fill(0xff), 0x62a8ab43],
  [Uint8Array.from({ length: 32 }, (_, i) => i), 0x46dd794e],
  [Uint8Array.from({ length: 32 }, (_, i) => 31 - i), 0x113fdb5c],
  [Buffer.from('123456789'), 0xe3069283],
  [new Uint8Array(0), 0],
])('has the checksums of the standard', (data, expected) => {
  expect(crc32c(data)).toBe(expected);
});
