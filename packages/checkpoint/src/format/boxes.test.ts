import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { intersection, sharedRuns, fullBox, type Box } from './boxes.js';
import { elementsOf } from './dtypes.js';

/** A shape with two boxes of it. */
const boxes = fc
  .array(fc.integer({ min: 1, max: 4 }), { maxLength: 4 })
  .chain((shape) => fc.tuple(fc.constant(shape), boxOf(shape), boxOf(shape)));

function boxOf(shape: readonly number[]): fc.Arbitrary<Box> {
  const dims = shape.map((length) =>
    fc.tuple(fc.nat(length), fc.nat(length)).map(([a, b]) => [Math.min(a, b), Math.abs(a - b)] as const),
  );
  return fc.tuple(...dims).map((ranges) => ({
    offset: ranges.map(([first]) => first),
    sizes: ranges.map(([, size]) => size),
  }));
}

/** The positions of a box's elements in the whole tensor, row-major. */
function elements({ offset, sizes }: Box, shape: readonly number[]): number[] {
  return Array.from({ length: elementsOf(sizes) }, (_, i) => {
    let rest = i;
    let number = 0;
    let stride = 1;
    for (let dim = shape.length - 1; dim >= 0; dim--) {
      number += (offset[dim]! + (rest % sizes[dim]!)) * stride;
      rest = Math.floor(rest / sizes[dim]!);
      stride *= shape[dim]!;
    }
    return number;
  });
}

describe('runs that two boxes share', () => {
  it('cover all their common elements, once and in order', () => {
    fc.assert(
      fc.property(boxes, ([shape, from, to]) => {
        const [source, target] = [elements(from, shape), elements(to, shape)];
        const runs = [...sharedRuns(from, to)];
        const pairs = runs.flatMap((run) =>
          Array.from({ length: run.length }, (_, i) => [source[run.from + i]!, target[run.to + i]!] as const),
        );
        const common = source.filter((number) => target.includes(number));
        expect(pairs).toEqual(common.map((number) => [number, number]));
        expect(common.length).toBe(elementsOf(intersection(from, to)?.sizes ?? [0]));
      }),
    );
  });

  it('are one run if the whole tensor or whole rows are wanted', () => {
    const full = fullBox([6, 5, 4]);
    expect([...sharedRuns(full, full)]).toEqual([{ from: 0, to: 0, length: 120 }]);
    const rows = { offset: [2, 0, 0], sizes: [3, 5, 4] };
    expect([...sharedRuns(full, rows)]).toEqual([{ from: 40, to: 0, length: 60 }]);
    const columns = { offset: [0, 0, 1], sizes: [6, 5, 2] };
    expect([...sharedRuns(columns, full)]).toHaveLength(30);
  });
});
