import fc from 'fast-check';
import { crc32 } from 'node:zlib';
import { expect, it } from 'vitest';
import { checksum, hasChecksum } from './checksum.js';

it('equals that of zlib, for bytes of any length and alignment', async () => {
  expect(hasChecksum()).toBe(true);
  const bytes = fc.tuple(fc.uint8Array({ maxLength: 700 }), fc.nat(20));
  await fc.assert(
    fc.asyncProperty(bytes, async ([all, first]) => {
      const part = all.subarray(first);
      expect(await checksum(part)).toBe(crc32(part));
    }),
    { numRuns: 300 },
  );
});

it('reads the bytes that it was given, even if their memory is reused meanwhile', async () => {
  const pending = Array.from({ length: 8 }, (_, i) => new Uint8Array(1 << 20).fill(i)).map((bytes) => ({
    sum: checksum(bytes),
    expected: crc32(bytes),
  }));
  for (const { sum, expected } of pending) expect(await sum).toBe(expected);
});
