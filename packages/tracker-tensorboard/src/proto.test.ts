import { expect, it } from 'vitest';
import { Proto } from './proto.js';

const hex = (message: Proto) => Buffer.from(message.done()).toString('hex');

it('writes what the encoding’s documentation shows', () => {
  expect(hex(new Proto().varint(1, 150))).toBe('089601');
  expect(hex(new Proto().bytes(2, 'testing'))).toBe('120774657374696e67');
  expect(hex(new Proto().bytes(3, new Proto().varint(1, 150)))).toBe('1a03089601');
});

it('writes large, negative and long values', () => {
  expect(hex(new Proto().varint(1, -1))).toBe('08ffffffffffffffffff01');
  expect(hex(new Proto().varint(1, 2 ** 40))).toBe('08808080808020');
  expect(new Proto().bytes(1, 'x'.repeat(1_000)).double(2, 1).float(3, 1).done()).toHaveLength(1_003 + 9 + 5);
});
