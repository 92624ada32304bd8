import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { STORED_DTYPES } from './dtypes.js';
import { encodeHeader, headerLength, LENGTH_BYTES, parseHeader, type Entry } from './safetensors.js';

const entries = fc.uniqueArray(
  fc.record({
    key: fc.string(),
    dtype: fc.constantFrom(...STORED_DTYPES),
    shape: fc.array(fc.nat(4), { maxLength: 3 }),
  }),
  { selector: ({ key }) => key, maxLength: 6 },
);

const invalid = expect.objectContaining({ code: 'ACC_SAFETENSORS_INVALID' }) as Error;
const parse = (bytes: Uint8Array, fileBytes?: number) =>
  parseHeader(
    bytes.subarray(LENGTH_BYTES, LENGTH_BYTES + headerLength(bytes, 'it')),
    fileBytes ?? undefined,
    'it',
  );

describe('a header', () => {
  it('describes the tensors that were written', () => {
    fc.assert(
      fc.property(entries, (list: Entry[]) => {
        const kept = list.filter(({ key }) => key !== '__metadata__');
        const { bytes, entries: written } = encodeHeader(kept, { format: 'test' });
        expect(bytes.length % 64).toBe(0);
        const { metadata, entries: read } = parse(bytes);
        expect(metadata).toEqual({ format: 'test' });
        const byKey = (a: Entry, b: Entry) => (a.key < b.key ? -1 : 1);
        expect([...read].sort(byKey)).toEqual([...written].sort(byKey));
      }),
    );
  });

  it('keeps tensor names that have a meaning in JavaScript', () => {
    const names = ['__proto__', 'constructor', '7'];
    const { bytes } = encodeHeader(
      names.map((key) => ({ key, dtype: 'F32', shape: [2] })),
      {},
    );
    expect(parse(bytes).entries.map(({ key }) => key)).toEqual(names);
  });

  it.each<[string, object]>([
    ['a gap', { a: { dtype: 'U8', shape: [2], data_offsets: [1, 3] } }],
    [
      'an overlap',
      {
        a: { dtype: 'U8', shape: [2], data_offsets: [0, 2] },
        b: { dtype: 'U8', shape: [2], data_offsets: [1, 3] },
      },
    ],
    ['another size than its shape has', { a: { dtype: 'F32', shape: [2], data_offsets: [0, 4] } }],
    ['a negative length', { a: { dtype: 'U8', shape: [-1], data_offsets: [0, 0] } }],
    ['no shape', { a: { dtype: 'U8', data_offsets: [0, 0] } }],
    ['a number', { a: 3 }],
  ])('with %s is refused', (_, json) => {
    const text = new TextEncoder().encode(JSON.stringify(json));
    expect(() => parseHeader(text, undefined, 'it')).toThrowError(invalid);
  });

  it('is refused if the file is too short or the header too long', () => {
    const { bytes } = encodeHeader([{ key: 'a', dtype: 'F32', shape: [2] }], {});
    expect(() => parse(bytes, bytes.length + 7)).toThrowError(invalid);
    expect(() => headerLength(bytes.subarray(0, 5), 'it')).toThrowError(invalid);
    expect(() => headerLength(new Uint8Array(8).fill(0xff), 'it')).toThrowError(invalid);
    expect(() => parseHeader(new TextEncoder().encode('[1]'), undefined, 'it')).toThrowError(invalid);
    expect(() => parseHeader(new TextEncoder().encode('{"a'), undefined, 'it')).toThrowError(invalid);
  });

  it('with an unknown dtype is refused, and the dtype is named', () => {
    const text = new TextEncoder().encode('{"a":{"dtype":"F8_E4M3","shape":[],"data_offsets":[0,1]}}');
    expect(() => parseHeader(text, undefined, 'it')).toThrowError(
      expect.objectContaining({ code: 'ACC_DTYPE_UNSUPPORTED', details: { key: 'a', dtype: 'F8_E4M3' } }),
    );
  });
});
