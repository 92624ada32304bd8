import { describe, expect, it } from 'vitest';
import { runsOfShard, type RowsAt, type TensorShard } from '@acc/contract';
import { boxesInFull, boxesOf, fullBox } from './boxes.js';

/** Where each element of a rank's rows lies in the whole tensor, by its position in the rows. */
function placesOf(boxes: readonly TensorShard[], shape: readonly number[]): Map<number, number> {
  const places = new Map<number, number>();
  for (const box of boxes) {
    const { offset, sizes } = box;
    const positions = [...runsOfShard(box)].flatMap(({ inVariable, length }) =>
      Array.from({ length }, (_, i) => inVariable + i),
    );
    for (const [k, local] of positions.entries()) {
      let rest = k;
      let position = 0;
      let stride = 1;
      for (let dim = shape.length - 1; dim >= 0; dim--) {
        position += (offset[dim]! + (rest % sizes[dim]!)) * stride;
        rest = Math.floor(rest / sizes[dim]!);
        stride *= shape[dim]!;
      }
      places.set(local, position);
    }
  }
  return places;
}

/** The same by the definition of rows: the own part of each repetition. */
function expected(shape: readonly number[], { dim, times }: RowsAt, index: number, count: number): number[] {
  const outer = shape.slice(0, dim).reduce((a, b) => a * b, times);
  const total = shape.reduce((a, b) => a * b, 1);
  const rest = total / outer / count;
  return Array.from({ length: total }, (_, i) => i).filter((i) => Math.floor(i / rest) % count === index);
}

it.each([
  [[6, 4], { dim: 0, times: 1 }],
  [[6, 4], { dim: 1, times: 1 }],
  [[2, 12], { dim: 1, times: 3 }],
  [[12], { dim: 0, times: 3 }],
  [[3, 8, 2], { dim: 1, times: 2 }],
] as const)('the boxes of rows of %j at %j are their elements', (shape, at) => {
  for (const index of [0, 1]) {
    const local = shape.map((size, dim) => (dim === at.dim ? size / 2 : size));
    const boxes = boxesInFull([fullBox(local)], {
      shape,
      placement: { kind: 'shard', ...at },
      rank: index,
      ranks: 2,
    });
    expect(boxes).toHaveLength(at.times);
    const places = placesOf(boxes, shape);
    const size = local.reduce((a, b) => a * b, 1);
    expect(Array.from({ length: size }, (_, k) => places.get(k))).toEqual(expected(shape, at, index, 2));
  }
});

it('boxes of a part of the rows stay parts', () => {
  const part = { shape: [2, 6], offset: [1, 1], sizes: [1, 4], start: 0 };
  const placement = { kind: 'shard', dim: 1, times: 3 } as const;
  const boxes = boxesInFull([part], { shape: [2, 12], placement, rank: 1, ranks: 2 });
  expect(boxes.map(({ offset, sizes, start }) => [offset, sizes, start])).toEqual([
    [[1, 3], [1, 1], 0],
    [[1, 6], [1, 2], 1],
    [[1, 10], [1, 1], 3],
  ]);
});

/** The row-major indices of a box's elements, in the order of the box. */
function indicesIn(shape: readonly number[], offset: readonly number[], sizes: readonly number[]): number[] {
  let indices = [0];
  shape.forEach((length, dim) => {
    const rows = Array.from({ length: sizes[dim]! }, (_, i) => offset[dim]! + i);
    indices = indices.flatMap((index) => rows.map((row) => index * length + row));
  });
  return indices;
}

describe('a range of elements', () => {
  it.each([[[24]], [[4, 6]], [[2, 3, 4]], [[6, 1, 4]], [[1, 24]], [[24, 1]]])(
    'of a tensor of shape %j is a few boxes with the same elements in the same order',
    (shape) => {
      for (let begin = 0; begin < 24; begin++) {
        for (let end = begin + 1; end <= 24; end++) {
          const boxes = boxesOf(shape, { begin, end });
          const elements = boxes.flatMap(({ offset, sizes, start }) => {
            const indices = indicesIn(shape, offset, sizes);
            expect(indices[0]).toBe(begin + start);
            return indices;
          });
          expect(elements).toEqual(Array.from({ length: end - begin }, (_, i) => begin + i));
          expect(boxes.length).toBeLessThanOrEqual(2 * shape.length - 1);
        }
      }
    },
  );

  it('that is empty is a box without elements', () => {
    expect(boxesOf([4, 6], { begin: 3, end: 3 })).toEqual([
      { shape: [4, 6], offset: [0, 0], sizes: [0, 0], start: 0 },
    ]);
  });
});

describe('the box of a rank', () => {
  const at = { rank: 1, ranks: 2 };

  it('has all elements of a tensor on its owner, and none elsewhere', () => {
    const shape = [2, 3];
    const local = [fullBox(shape)];
    expect(boxesInFull(local, { shape, placement: { kind: 'owner', rank: 1 }, ...at })).toEqual(local);
    expect(boxesInFull([fullBox([0])], { shape, placement: { kind: 'owner', rank: 0 }, ...at })).toEqual([
      { shape, offset: [0, 0], sizes: [0, 0], start: 0 },
    ]);
  });

  it('of elements, and of a part of them, lies where the elements lie', () => {
    const tensor = { shape: [4, 6], placement: { kind: 'flat', begin: 6, end: 18 }, ...at } as const;
    expect(boxesInFull([fullBox([12])], tensor)).toEqual([
      { shape: [4, 6], offset: [1, 0], sizes: [2, 6], start: 0 },
    ]);
    const part = { shape: [12], offset: [6], sizes: [6], start: 2 };
    expect(boxesInFull([part], tensor)).toEqual([{ shape: [4, 6], offset: [2, 0], sizes: [1, 6], start: 2 }]);
  });
});
