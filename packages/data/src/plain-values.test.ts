import { describe, expect, it } from 'vitest';
import { packPlain, plainKind } from './plain-values.js';

describe('plainKind', () => {
  it.each([
    [3, 'float32', []],
    [true, 'bool', []],
    ['a', 'string', []],
    [[1, 2, 3], 'float32', [3]],
    [[true, false], 'bool', [2]],
    [['a', 'b'], 'string', [2]],
    [
      [
        [1, 2, 3],
        [4, 5, 6],
      ],
      'float32',
      [2, 3],
    ],
    [[], 'float32', [0]],
    [[[], []], 'float32', [2, 0]],
    [new Float32Array(4), 'float32', [4]],
    [new Float64Array(4), 'float32', [4]],
    [new Uint8Array(4), 'int32', [4]],
    [new Int32Array(4), 'int32', [4]],
  ])('of %j is %s %j', (value, dtype, shape) => {
    expect(plainKind(value)).toEqual({ dtype, shape });
  });

  it.each([
    [[1, 'a']],
    [[1, true]],
    [[1, [2]]],
    [[[1], 2]],
    [[[1, 2], [3]]],
    [[new Float32Array(2), new Float32Array(2)]],
    [{ x: 1 }],
    [null],
    [undefined],
    [10n],
    [new BigInt64Array(2)],
    [new DataView(new ArrayBuffer(2))],
  ])('of %o is undefined', (value) => {
    expect(plainKind(value)).toBeUndefined();
  });
});

describe('packPlain', () => {
  it('stores values one after another', () => {
    const nested = [
      [
        [1, 2],
        [3, 4],
      ],
      [
        [5, 6],
        [7, 8],
      ],
    ];
    expect(packPlain(nested, { dtype: 'float32', shape: [2, 2] })).toEqual(
      Float32Array.of(1, 2, 3, 4, 5, 6, 7, 8),
    );
    expect(packPlain([true, false], { dtype: 'bool', shape: [] })).toEqual(Uint8Array.of(1, 0));
    expect(packPlain([[['a', 'b']], [['c', 'd']]], { dtype: 'string', shape: [1, 2] })).toEqual([
      'a',
      'b',
      'c',
      'd',
    ]);
    const bytes = [Uint8Array.of(1, 255), Uint8Array.of(2, 0)];
    expect(packPlain(bytes, { dtype: 'int32', shape: [2] })).toEqual(Int32Array.of(1, 255, 2, 0));
  });
});
