import type { Points } from './series.js';

/** A part of the x axis, and the pixels that it takes. */
export interface View {
  readonly from: number;
  readonly to: number;
  readonly width: number;
}

/** The points to draw, in the order of x. */
export interface Drawn {
  readonly x: number[];
  /** Null: a gap, where the first point of a column is that is not finite. */
  readonly y: (number | null)[];
  /** Columns with points that are not finite: the x of the first one, and their number. */
  readonly nonFinite: { readonly x: number; readonly count: number }[];
}

/**
 * Reduces a curve to the points that its picture needs: the first, the smallest, the largest and the last
 * finite point of each column of pixels (M4: Jugel et al., 2014), and the points that are not finite. The
 * picture of the lines between them is that of all points. The neighbours of the view on both sides are
 * there, too, so that lines reach its borders.
 */
export function pixelColumns(points: Points, view: View): Drawn {
  const { x } = points;
  const drawn: Drawn = { x: [], y: [], nonFinite: [] };
  const begin = firstAtLeast(x, view.from);
  const end = firstAbove(x, view.to);
  if (begin > 0) add(drawn, points, begin - 1);
  for (let at = begin; at < end;) at = addColumn(drawn, points, at, endOfColumn(x, at, end, view));
  if (end < x.length) add(drawn, points, end);
  return drawn;
}

function columnOf(x: number, { from, to, width }: View): number {
  return to > from ? Math.min(width - 1, Math.floor(((x - from) / (to - from)) * width)) : 0;
}

/** The place after the last point of the column of a point. */
function endOfColumn(x: Float64Array, at: number, end: number, view: View): number {
  const column = columnOf(x[at]!, view);
  return at + search(x.subarray(at, end), (each) => columnOf(each, view) > column);
}

/** Adds the points of a column, and returns its end. */
function addColumn(drawn: Drawn, points: Points, begin: number, end: number): number {
  const { x, y } = points;
  let [first, least, most, last, bad] = [-1, -1, -1, -1, -1];
  let count = 0;
  for (let i = begin; i < end; i++) {
    const value = y[i]!;
    if (!Number.isFinite(value)) {
      if (bad < 0) bad = i;
      count++;
      continue;
    }
    if (first < 0) first = least = most = i;
    last = i;
    if (value < y[least]!) least = i;
    if (value > y[most]!) most = i;
  }
  const kept = new Set([first, least, most, last, bad].filter((i) => i >= 0));
  for (const i of [...kept].sort((a, b) => a - b)) add(drawn, points, i);
  if (count > 0) drawn.nonFinite.push({ x: x[bad]!, count });
  return end;
}

function add(drawn: Drawn, { x, y }: Points, i: number): void {
  drawn.x.push(x[i]!);
  drawn.y.push(Number.isFinite(y[i]) ? y[i]! : null);
}

function firstAtLeast(x: Float64Array, value: number): number {
  return search(x, (each) => each >= value);
}

function firstAbove(x: Float64Array, value: number): number {
  return search(x, (each) => each > value);
}

/** The first place whose value passes, of values of which the last ones do. */
function search(x: Float64Array, passes: (value: number) => boolean): number {
  let [low, high] = [0, x.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (passes(x[middle]!)) high = middle;
    else low = middle + 1;
  }
  return low;
}
