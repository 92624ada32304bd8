import { describe, expect, it } from 'vitest';
import {
  encodeDescription,
  formatWords,
  requireAgreement,
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
      encodeDescription({ collective: 'allReduce', dtype: 'float32', shape: [2, 3], op: 'sum' }, 1, [
        [2],
        [4],
      ]),
    ],
  ])('reads %s off the wire', (text, words) => {
    expect(formatWords(words)).toBe(text);
  });

  it('accepts equal calls, and gathers of different lengths, which it reads as they are', () => {
    expect(() => requireAgreement([call(), call(), call()])).not.toThrow();
    const rows = (n: number) => call({ collective: 'allGather', shape: [n, 3], hasFreeRows: true });
    expect(() => requireAgreement([rows(1), rows(5)])).not.toThrow();
    expect(formatWords(rows(5))).toContain('float32[5,3]');
  });

  it.each([
    ['shape', call({ shape: [3, 2] })],
    ['dtype', call({ dtype: 'int32' })],
    ['operation', call({ op: 'max' })],
    ['collective', call({ collective: 'broadcast', root: 0 })],
    ['number of dims', call({ shape: [2, 3, 1] })],
  ])('refuses another %s and lists what each rank had', (_, other) => {
    try {
      requireAgreement([call(), call(), other]);
      expect.unreachable();
    } catch (error) {
      expect(error).toMatchObject({
        code: 'ACC_COLLECTIVE_MISMATCH',
        details: { calls: [call(), call(), other].map(formatWords) },
      });
      expect((error as Error).message).toContain('rank 2:');
    }
  });

  it('tells lists of tensors apart that have the same whole', () => {
    const of = (shapes: number[][]) =>
      encodeDescription({ collective: 'allReduce', dtype: 'float32', shape: [1, 6] }, 1, shapes);
    expect(() => requireAgreement([of([[2], [4]]), of([[4], [2]])])).toThrow();
  });
});
