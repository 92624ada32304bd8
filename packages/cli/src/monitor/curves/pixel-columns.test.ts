import fc from 'fast-check';
import { expect, it } from 'vitest';
import { pixelColumns, type Drawn, type View } from './pixel-columns.js';
import { Series } from './series.js';

interface Point {
  readonly x: number;
  readonly y: number;
}

function seriesOf(points: readonly Point[]): Series {
  const series = new Series();
  for (const { x, y } of points) series.push(x, y);
  return series;
}

/** The same by sorting the points of each column: slow, and plain. */
function plain(points: readonly Point[], { from, to, width }: View): Drawn {
  const drawn: Drawn = { x: [], y: [], nonFinite: [] };
  const add = (each: readonly (Point | undefined)[]) => {
    const kept = new Set(each.filter((point) => point !== undefined));
    for (const { x, y } of [...kept].sort((a, b) => a.x - b.x)) {
      drawn.x.push(x);
      drawn.y.push(Number.isFinite(y) ? y : null);
    }
  };
  add([points.findLast(({ x }) => x < from)]);
  for (let column = 0; column < width; column++) {
    const inside = points.filter(({ x }) => {
      const place = to > from ? Math.floor(((x - from) / (to - from)) * width) : 0;
      return x >= from && x <= to && Math.min(place, width - 1) === column;
    });
    const finite = inside.filter(({ y }) => Number.isFinite(y));
    const sorted = finite.toSorted((a, b) => a.y - b.y || a.x - b.x);
    const most = sorted.find(({ y }) => y === sorted.at(-1)!.y);
    const bad = inside.filter(({ y }) => !Number.isFinite(y));
    add([finite[0], sorted[0], most, finite.at(-1), bad[0]]);
    if (bad.length > 0) drawn.nonFinite.push({ x: bad[0]!.x, count: bad.length });
  }
  add([points.find(({ x }) => x > to)]);
  return drawn;
}

const value = fc.oneof(
  fc.integer({ min: -5, max: 5 }),
  fc.constantFrom(NaN, Infinity, -Infinity),
  fc.double({ noNaN: true, noDefaultInfinity: true }),
);

it('keeps exactly the first, smallest, largest, last and non-finite points of each column', () => {
  const steps = fc.uniqueArray(fc.nat(300), { maxLength: 200 });
  const view = fc.record({ from: fc.nat(300), size: fc.nat(300), width: fc.integer({ min: 1, max: 40 }) });
  fc.assert(
    fc.property(steps, fc.array(value, { minLength: 200, maxLength: 200 }), view, (xs, ys, given) => {
      const points = xs.toSorted((a, b) => a - b).map((x, i) => ({ x, y: ys[i]! }));
      const seen = { from: given.from, to: given.from + given.size, width: given.width };
      expect(pixelColumns(seriesOf(points), seen)).toEqual(plain(points, seen));
    }),
  );
});

it('at a million points, a single peak, a single NaN and both ends stay', () => {
  const series = new Series();
  for (let x = 1; x <= 1e6; x++) series.push(x, x === 654_321 ? 1e9 : x === 777_777 ? NaN : Math.sin(x));
  const drawn = pixelColumns(series, { from: 1, to: 1e6, width: 800 });
  expect(drawn.x.length).toBeLessThanOrEqual(5 * 800);
  expect(drawn.y[drawn.x.indexOf(654_321)]).toBe(1e9);
  expect(drawn.nonFinite).toEqual([{ x: 777_777, count: 1 }]);
  expect([drawn.x[0], drawn.x.at(-1)]).toEqual([1, 1e6]);
});

it('steps that a resumed run repeats take the place of the earlier ones', () => {
  const series = seriesOf([1, 2, 3, 4, 3, 4, 5].map((x, i) => ({ x, y: i })));
  expect([[...series.x], [...series.y]]).toEqual([
    [1, 2, 3, 4, 5],
    [0, 1, 4, 5, 6],
  ]);
});
