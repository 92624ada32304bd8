import type { Allocation } from '@acc/native';

export interface ArenaPlan {
  /** The offset of each allocation in bytes; -1 for one that is not planned. */
  readonly places: readonly number[];
  /** The size of the arena. */
  readonly bytes: number;
  /** The largest sum of allocations that live at the same time. No arena can be smaller. */
  readonly neededBytes: number;
}

interface Planned {
  readonly index: number;
  readonly bytes: number;
  readonly end: number;
}

/** An arena that is at most this much larger than what is needed is not improved further. */
const GOOD_ENOUGH = 1.01;

/** Orders in which allocations are placed. The first one nearly always gives the best arena. */
const ORDERS: readonly ((a: Planned, b: Planned) => number)[] = [
  (a, b) => b.bytes - a.bytes || a.index - b.index,
  (a, b) => b.bytes * durationOf(b) - a.bytes * durationOf(a) || a.index - b.index,
  (a, b) => durationOf(b) - durationOf(a) || b.bytes - a.bytes || a.index - b.index,
  (a, b) => a.index - b.index,
];

/**
 * Gives allocations places in one arena, so that those that live at the same time do not overlap:
 * one after the other, largest first, each into the smallest gap between those placed before (Y.
 * Pisarchyk and J. Lee, "Efficient Memory Management for Deep Neural Net Inference",
 * arXiv:2001.03288, 2020). Other orders are tried if that wastes memory.
 */
export function planArena(allocations: readonly Allocation[]): ArenaPlan {
  const planned = allocations.flatMap(({ bytes, end }, index): Planned[] =>
    end === undefined ? [] : [{ index, bytes, end }],
  );
  const neededBytes = largestSum(planned);
  let best: Pick<ArenaPlan, 'places' | 'bytes'> | undefined;
  for (const order of ORDERS) {
    const found = placedInOrder(planned.toSorted(order), allocations.length);
    if (!best || found.bytes < best.bytes) best = found;
    if (best.bytes <= neededBytes * GOOD_ENOUGH) break;
  }
  return { ...best!, neededBytes };
}

const durationOf = ({ index, end }: Planned): number => end - index;

/** `planned` in the order of their beginnings. */
function largestSum(planned: readonly Planned[]): number {
  const ending = planned.toSorted((a, b) => a.end - b.end);
  let [sum, largest, released] = [0, 0, 0];
  for (const { index, bytes } of planned) {
    for (; ending[released]!.end <= index; released++) sum -= ending[released]!.bytes;
    sum += bytes;
    largest = Math.max(largest, sum);
  }
  return largest;
}

function placedInOrder(ordered: readonly Planned[], count: number): Pick<ArenaPlan, 'places' | 'bytes'> {
  const places = new Array<number>(count).fill(-1);
  /** In the order of their places. */
  const placed: Planned[] = [];
  let total = 0;
  for (const next of ordered) {
    const place = smallestGap(next, placed, places);
    places[next.index] = place;
    total = Math.max(total, place + next.bytes);
    placed.splice(firstFrom(place, placed, places), 0, next);
  }
  return { places, bytes: total };
}

/** Where the smallest gap begins that is large enough, between allocations of the same time. */
function smallestGap(
  { index, bytes, end }: Planned,
  placed: readonly Planned[],
  places: readonly number[],
): number {
  let [free, best, bestGap] = [0, -1, Infinity];
  for (const other of placed) {
    if (other.index >= end || other.end <= index) continue;
    const gap = places[other.index]! - free;
    if (gap >= bytes && gap < bestGap) [best, bestGap] = [free, gap];
    free = Math.max(free, places[other.index]! + other.bytes);
  }
  return best < 0 ? free : best;
}

/** The number of allocations that are placed before `place`. */
function firstFrom(place: number, placed: readonly Planned[], places: readonly number[]): number {
  let [low, high] = [0, placed.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (places[placed[middle]!.index]! < place) low = middle + 1;
    else high = middle;
  }
  return low;
}
