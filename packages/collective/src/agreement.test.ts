import { describe, expect, it } from 'vitest';
import { decodeDescription, encodeDescription, requireAgreement, type CallDescription } from './agreement.js';

const call = (rest: Partial<CallDescription> = {}): CallDescription => ({
  collective: 'allReduce',
  dtype: 'float32',
  shape: [2, 3],
  op: 'sum',
  ...rest,
});

describe('agreement of ranks', () => {
  it('survives the wire', () => {
    const gather = call({ collective: 'allGather', shape: [1, 2, 3, 4] });
    for (const one of [call(), gather, call({ collective: 'broadcast', fromRank: 1 })]) {
      expect(decodeDescription(encodeDescription(one))).toEqual(one);
    }
  });

  it('accepts equal calls, and gathers of different lengths', () => {
    expect(() => requireAgreement([call(), call(), call()])).not.toThrow();
    const rows = (n: number) => call({ collective: 'allGather', shape: [n, 3] });
    expect(() => requireAgreement([rows(1), rows(5)])).not.toThrow();
  });

  it.each([
    ['shape', call({ shape: [3, 2] })],
    ['dtype', call({ dtype: 'int32' })],
    ['operation', call({ op: 'max' })],
    ['collective', call({ collective: 'broadcast', fromRank: 0 })],
    ['rank', call({ shape: [2, 3, 1] })],
  ])('refuses another %s and lists what each rank had', (_, other) => {
    try {
      requireAgreement([call(), call(), other]);
      expect.unreachable();
    } catch (error) {
      expect(error).toMatchObject({
        code: 'ACC_COLLECTIVE_MISMATCH',
        details: { calls: [call(), call(), other] },
      });
      expect((error as Error).message).toContain('rank 2:');
    }
  });
});
