import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { objectFromBytes, objectToBytes } from './object-bytes.js';

const roundTrip = (value: unknown) => objectFromBytes(objectToBytes(value));

describe('objects as bytes', () => {
  it('preserve all JSON values, NaN, infinities, -0, bigint and undefined', () => {
    fc.assert(
      fc.property(fc.object({ withBigInt: true, withNullPrototype: false }), (value) => {
        expect(roundTrip(value)).toEqual(value);
      }),
    );
    expect(Object.is(roundTrip(-0), -0)).toBe(true);
    expect(roundTrip([NaN, Infinity, -Infinity, undefined, 12n])).toEqual([
      NaN,
      Infinity,
      -Infinity,
      undefined,
      12n,
    ]);
  });

  it('preserve typed arrays, also views into a larger buffer', () => {
    const view = new Float32Array([1, 2, 3, 4]).subarray(1, 3);
    expect(roundTrip({ view, big: BigInt64Array.of(5n) })).toEqual({
      view: Float32Array.of(2, 3),
      big: BigInt64Array.of(5n),
    });
  });

  it('preserve an object that contains the key of the internal tags', () => {
    expect(roundTrip({ '@acc': 'array', x: [1] })).toEqual({ '@acc': 'array', x: [1] });
  });

  it.each([
    ['function', () => 1],
    ['class instance', new Map()],
    ['symbol', Symbol('x')],
  ])('refuses a %s', (_, value) => {
    expect(() => objectToBytes({ a: { b: value } })).toThrowError(
      expect.objectContaining({ code: 'ACC_OBJECT_NOT_SERIALIZABLE' }),
    );
  });

  it('refuses a cycle', () => {
    const cycle: Record<string, unknown> = {};
    cycle.self = cycle;
    expect(() => objectToBytes(cycle)).toThrowError(
      expect.objectContaining({ code: 'ACC_OBJECT_NOT_SERIALIZABLE' }),
    );
  });
});
