import { describe, expect, it } from 'vitest';
import { fullTensorsOf, type Claim } from './full-tensors.js';

const claim = (name: string, shape: number[], offset = shape.map(() => 0), sizes = shape): Claim => ({
  name,
  dtype: 'F32',
  shape,
  offset,
  sizes,
});
const invalid = (tensors: object[]): Error =>
  expect.objectContaining({ code: 'ACC_STATE_INVALID', details: { tensors } }) as Error;

it('ranks may hold the same tensors, different tensors, and shards of one tensor', () => {
  const wholes = fullTensorsOf([
    [claim('everywhere', [2]), claim('first', [3, 2]), claim('w', [4, 2], [0, 0], [3, 2])],
    [claim('w', [4, 2], [3, 0], [1, 2]), claim('last', []), claim('everywhere', [2])],
    [claim('w', [4, 2], [4, 0], [0, 2]), claim('none', [0, 3])],
  ]);
  expect(wholes.map(({ name, boxes }) => [name, boxes.map(({ ranks }) => ranks)])).toEqual([
    ['everywhere', [[0, 1]]],
    ['first', [[0]]],
    ['w', [[0], [1]]],
    ['last', [[1]]],
    ['none', []],
  ]);
});

describe('ranks that disagree are named if', () => {
  it('shapes or dtypes differ', () => {
    const other: Claim = { ...claim('b', [3]), dtype: 'I32' };
    const ranks = [[claim('a', [2]), claim('b', [3])], [claim('b', [3])], [claim('a', [1, 2]), other]];
    expect(() => fullTensorsOf(ranks)).toThrowError(
      invalid([
        { name: 'a', ranks: [0, 2] },
        { name: 'b', ranks: [0, 2] },
      ]),
    );
    expect(() => fullTensorsOf(ranks)).toThrowError("'a' is F32 [2] on rank 0 and F32 [1,2] on rank 2");
  });

  it('shards overlap', () => {
    const ranks = [
      [claim('w', [4, 4], [2, 0], [2, 4])],
      [claim('w', [4, 4], [0, 0], [2, 2])],
      [claim('w', [4, 4], [0, 2], [3, 2])],
    ];
    expect(() => fullTensorsOf(ranks)).toThrowError(invalid([{ name: 'w', ranks: [2, 0] }]));
  });

  it('elements are missing on all ranks, unless that is allowed', () => {
    const ranks = [[claim('w', [4], [0], [2])], [claim('w', [4], [3], [1])]];
    expect(() => fullTensorsOf(ranks)).toThrowError(invalid([{ name: 'w', ranks: [0, 1] }]));
    expect(fullTensorsOf(ranks, (name) => name === 'w')).toHaveLength(1);
  });

  it('a rank has two tensors of one name', () => {
    expect(() => fullTensorsOf([[claim('w', [2]), claim('w', [2])]])).toThrowError(
      invalid([{ name: 'w', ranks: [0] }]),
    );
  });
});
