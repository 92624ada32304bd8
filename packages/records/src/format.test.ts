import { readFileSync } from 'node:fs';
import { deflateRawSync } from 'node:zlib';
import { crc32 } from '@acc/platform';
import { expect, it } from 'vitest';
import { KIND, MAGIC, parseRecords, RecordsTail } from './format.js';
import { inflate } from './platform/inflate.browser.js';

const run = new URL('testing/runs/rank-1-computes-twice-as-much/', import.meta.url);
const whole = readFileSync(new URL('steps-rank-0.acc', run));

it.each([1000, 4096, 5, whole.length])('parts of %i bytes give the rows of the whole file', async (size) => {
  // Damaged bytes within, and two processes that wrote one after the other.
  const bytes = Buffer.concat([whole, Buffer.from('ACR1 torn by a kill'), whole]);
  const tail = new RecordsTail();
  const rows = [];
  for (let at = 0; at < bytes.length; at += size)
    rows.push(...(await tail.add(bytes.subarray(at, at + size))));
  const expected = await parseRecords(whole);
  expect(rows).toEqual([...expected, ...expected]);
  expect(tail.lastBegin).toBe(expected.length);
  expect(tail.passedOver).toBe('ACR1 torn by a kill'.length);
});

it('rows of a block come when it is whole', async () => {
  const tail = new RecordsTail();
  const before = await tail.add(whole.subarray(0, whole.length - 1));
  const all = await parseRecords(whole);
  expect(before.length).toBeLessThan(all.length);
  expect([...before, ...(await tail.add(whole.subarray(whole.length - 1)))]).toEqual(all);
});

function block(kind: number, payload: Uint8Array): Buffer {
  const header = Buffer.alloc(16);
  [MAGIC, kind, payload.length, crc32(payload)].forEach((word, i) => header.writeUInt32LE(word, 4 * i));
  return Buffer.concat([header, payload]);
}

it.each([
  [
    'rows that inflate to a thousand times their size',
    block(KIND.rows, deflateRawSync(Buffer.alloc(1 << 25))),
  ],
  ['rows that are not deflated', block(KIND.rows, Buffer.from([255, 255, 255]))],
  ['columns that are no JSON', block(KIND.columns, Buffer.from('{'))],
])('passes over %s', async (_, damaged) => {
  const tail = new RecordsTail();
  const rows = await tail.add(Buffer.concat([whole, damaged, whole]));
  expect(rows).toHaveLength(2 * (await parseRecords(whole)).length);
  expect(tail.passedOver).toBe(damaged.length);
});

it('a page inflates the same, with the same limit', async () => {
  const bytes = Buffer.from('rows '.repeat(100));
  expect(Buffer.from(await inflate(deflateRawSync(bytes), bytes.length))).toEqual(bytes);
  await expect(inflate(deflateRawSync(bytes), bytes.length - 1)).rejects.toThrow('more than 499');
});
