import { describe, expect, it } from 'vitest';
import { encodeDescription, formatWords, requireAgreement, type CallDescription } from './agreement.js';

const call = (rest: Partial<CallDescription> = {}): Int32Array =>
  encodeDescription({ collective: 'allReduce', dtype: 'float32', shape: [2, 3], op: 'sum', ...rest });

describe('agreement of ranks', () => {
  it.each<[string, Int32Array]>([
    ["allReduce(float32[2,3], 'sum')", call()],
    [
      'broadcast(bfloat16[], rank 1)',
      encodeDescription({ collective: 'broadcast', dtype: 'bfloat16', shape: [], root: 1 }),
    ],
    ['allGather(int64[*,3])', encodeDescription({ collective: 'allGather', dtype: 'int64', shape: [-1, 3] })],
    ['barrier()', encodeDescription({ collective: 'barrier' })],
    [
      "allReduce(float32[2,3], of 2 tensors, 'sum')",
      encodeDescription({ collective: 'allReduce', dtype: 'float32', shape: [2, 3], op: 'sum' }, [[2], [4]]),
    ],
  ])('reads %s off the wire', (text, words) => {
    expect(formatWords(words)).toBe(text);
  });

  it('accepts equal calls', () => {
    expect(() => requireAgreement([call(), call(), call()])).not.toThrow();
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
      encodeDescription({ collective: 'allReduce', dtype: 'float32', shape: [1, 6] }, shapes);
    expect(() => requireAgreement([of([[2], [4]]), of([[4], [2]])])).toThrow();
  });
});
