import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { decodeTagged, encodeTagged, tagged, type Json, type TaggedJsonRules } from './tagged-json.js';

const rules: TaggedJsonRules = {
  encode: (value) => (value instanceof Date ? tagged({ kind: 'date', ms: value.getTime() }) : undefined),
  nameOf: (where, key) => `${where}/${key}`,
  refuse: (where, what) => new RangeError(`${where} is ${what}`),
};
const through = (value: unknown): unknown =>
  decodeTagged(JSON.parse(JSON.stringify(encodeTagged(value, 'root', rules))) as Json, ({ ms }) => {
    return new Date(ms as number);
  });

describe('tagged JSON', () => {
  it('restores plain values, whatever their keys', () => {
    const values = fc.letrec((tie) => ({
      value: fc.oneof(
        fc.string(),
        fc.boolean(),
        fc.double(),
        fc.constant(null),
        fc.constantFrom(NaN, Infinity, -Infinity, -0),
        fc.array(tie('value'), { maxLength: 3 }),
        fc.dictionary(fc.oneof(fc.string(), fc.constantFrom('$acc', '__proto__')), tie('value'), {
          maxKeys: 3,
        }),
      ),
    })).value;
    fc.assert(fc.property(values, (value) => void expect(through(value)).toEqual(value)));
  });

  it('reads the format of existing checkpoints and of other processes', () => {
    const json = encodeTagged({ a: [NaN, -0, 1], b: { $acc: 1 }, c: new Date(5) }, 'root', rules);
    expect(json).toEqual({
      a: [{ $acc: { kind: 'number', text: 'NaN' } }, { $acc: { kind: 'number', text: '-0' } }, 1],
      b: { $acc: { kind: 'object', entries: { $acc: 1 } } },
      c: { $acc: { kind: 'date', ms: 5 } },
    });
  });

  it('treats undefined as JSON does', () => {
    expect(through({ a: undefined, b: [undefined, 1] })).toEqual({ b: [null, 1] });
    expect(through(undefined)).toBeNull();
  });

  it('passes additional types to the given rules', () => {
    expect(through([{ $acc: new Date(1) }])).toEqual([{ $acc: new Date(1) }]);
  });

  it('accepts one object in two places, which is not a cycle', () => {
    const shared = { a: 1 };
    expect(through([shared, shared])).toEqual([{ a: 1 }, { a: 1 }]);
  });

  const cycle: { self?: unknown } = {};
  cycle.self = cycle;

  it.each([
    ['a function', { f: () => 1 }, 'root/f is a function'],
    ['a class instance', { d: [new Map()] }, 'root/d/0 is a Map'],
    ['a bigint', { n: 1n }, 'root/n is a bigint'],
    ['a cycle', cycle, 'root/self is a cycle'],
  ])('refuses %s and names its path', (_, value, message) => {
    expect(() => encodeTagged(value, 'root', rules)).toThrowError(new RangeError(message));
  });
});
