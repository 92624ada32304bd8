import { hashOf } from '@acc/contract';
import { describe, expect, it } from 'vitest';
import {
  codeOfName,
  doAgree,
  encodeDescription,
  formatWords,
  mismatch,
  type CallDescription,
  type Words,
} from './agreement.js';

const call = (rest: Partial<CallDescription> = {}): Words =>
  encodeDescription({ collective: 'allReduce', dtype: 'float32', shape: [2, 3], op: 'sum', ...rest }, 1);

describe('agreement of ranks', () => {
  it.each<[string, Words]>([
    ["allReduce(float32[2,3], 'sum')", call()],
    [
      'broadcast(bfloat16[], rank 1)',
      encodeDescription({ collective: 'broadcast', dtype: 'bfloat16', shape: [], root: 1 }, 1),
    ],
    ['barrier()', encodeDescription({ collective: 'barrier' }, 1)],
    [
      "allReduce(float32[2,3], of 2 tensors, 'sum')",
      encodeDescription({ collective: 'allReduce', dtype: 'float32', shape: [2, 3], op: 'sum' }, 1, {
        coalesced: [[2], [4]],
      }),
    ],
    [
      'barrier() for dense/kernel',
      encodeDescription({ collective: 'barrier' }, 1, { name: codeOfName('dense/kernel') }),
    ],
  ])('decodes %s', (text, words) => {
    expect(formatWords(words)).toBe(text);
  });

  it('accepts equal calls, and gathers of different lengths', () => {
    expect(doAgree([call(), call(), call()])).toBe(true);
    const rows = (n: number) => call({ collective: 'allGather', shape: [n, 3], hasFreeRows: true });
    expect(doAgree([rows(1), rows(5)])).toBe(true);
    expect(formatWords(rows(5))).toContain('float32[5,3]');
  });

  it.each([
    ['shape', call({ shape: [3, 2] })],
    ['dtype', call({ dtype: 'int32' })],
    ['operation', call({ op: 'max' })],
    ['collective', call({ collective: 'broadcast', root: 0 })],
    ['number of dims', call({ shape: [2, 3, 1] })],
  ])('refuses a different %s and lists the value of each rank', (_, other) => {
    const calls = [call(), call(), other];
    expect(doAgree(calls)).toBe(false);
    const error = mismatch(calls, ['at /home/me/train.ts:2:1', undefined, 'at /home/me/train.ts:3:5']);
    expect(error).toMatchObject({
      code: 'ACC_COLLECTIVE_MISMATCH',
      details: { calls: calls.map(formatWords) },
    });
    expect(error.message).toContain(`rank 0: ${formatWords(call())}, at /home/me/train.ts:2:1\n`);
    expect(error.message).toContain(`rank 1: ${formatWords(call())}\n`);
    expect(error.message).toContain(`rank 2: ${formatWords(other)}, at /home/me/train.ts:3:5`);
  });

  it('distinguishes lists of tensors with equal total sizes', () => {
    const of = (shapes: number[][]) =>
      encodeDescription({ collective: 'allReduce', dtype: 'float32', shape: [1, 6] }, 1, {
        coalesced: shapes,
      });
    expect(doAgree([of([[2], [4]]), of([[4], [2]])])).toBe(false);
  });

  it('distinguishes calls for different names, and states the names', () => {
    const of = (name: string) =>
      encodeDescription({ collective: 'allReduce', dtype: 'float32', shape: [6], op: 'sum' }, 1, {
        name: codeOfName(name),
      });
    const calls = [of('a/kernel'), of('b/kernel')];
    expect([doAgree(calls), doAgree([of('a/kernel'), of('a/kernel')])]).toEqual([false, true]);
    const { message } = mismatch(calls, []);
    expect(message).toContain("rank 0: allReduce(float32[6], 'sum') for a/kernel\n");
    expect(message).toContain("rank 1: allReduce(float32[6], 'sum') for b/kernel");
  });

  it('says where to find a name that only another rank knows', () => {
    const call = { collective: 'broadcast', dtype: 'float32', shape: [6], root: 0 } as const;
    const other = encodeDescription(call, 1, { name: 123_456 });
    const { message, help } = mismatch([other, encodeDescription({ collective: 'barrier' }, 1)], []);
    expect(message).toContain('broadcast(float32[6], rank 0) (the output of that rank says for what)\n');
    expect(help).toMatch(/predict, evaluate, generate, getWeights and reading a weight/);
  });

  it('names the method of a call, and asks first to await every call', () => {
    const saving = encodeDescription({ collective: 'allGatherObject' }, 1, {
      name: hashOf('saveState()'),
    });
    const step = encodeDescription({ collective: 'broadcastObject', root: 0 }, 1, { name: 4_711 });
    const { message, help } = mismatch([saving, step], []);
    expect(message).toContain('rank 0: allGatherObject() for saveState()\n');
    expect(help).toMatch(/^Await every call, on every rank/);
  });
});
