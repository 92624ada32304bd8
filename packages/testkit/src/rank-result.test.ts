import { describe, expect, it } from 'vitest';
import { encodeResult, parseResult } from './rank-result.js';

const roundTrip = (value: unknown): unknown =>
  parseResult(`loss 1\n::result::${encodeResult(value)}\nthe end`);

describe('results of ranks', () => {
  it('arrive as they were reported', () => {
    const value = { loss: 0.1, special: [NaN, -Infinity, -0], names: ['ä', null], nested: { flag: true } };
    expect(roundTrip(value)).toEqual(value);
    expect(Object.is((roundTrip([-0]) as number[])[0], -0)).toBe(true);
  });

  it('keep typed arrays bit for bit, also views of a larger buffer', () => {
    const floats = new Float32Array([1, 0.1, NaN, -0, 3.4e38]).subarray(1);
    expect(roundTrip({ floats })).toEqual({ floats });
    expect(roundTrip(new BigInt64Array([-5n]))).toEqual(new BigInt64Array([-5n]));
  });

  it('are undefined if none was reported, and an error if the line is damaged', () => {
    expect(parseResult('loss 1\n')).toBeUndefined();
    expect(() => parseResult('::result::{"a"')).toThrowError(
      expect.objectContaining({ code: 'ACC_RANK_RESULT' }),
    );
  });
});
