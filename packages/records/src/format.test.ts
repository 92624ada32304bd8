import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { parseRecords, RecordsTail } from './format.js';

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
