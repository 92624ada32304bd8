/** Below this share of all values, a heap is faster than a sort. */
const SHARE = 1 / 8;

/** A number holds the 32 bits of a value and a position below this exactly. */
const POSITIONS = 2 ** 21;

/**
 * The positions of the highest values, the highest first. Among equal values the lower position comes
 * first. Returns all positions if there are no more than `count`.
 *
 * @param values Without NaN.
 */
export function highest(values: Float32Array, count: number): Uint32Array {
  const isLarge = count > SHARE * values.length;
  if (isLarge && values.length <= POSITIONS) return sorted(values).slice(0, count);
  const isBefore = (a: number, b: number) => values[a]! > values[b]! || (values[a] === values[b] && a < b);
  return heapOf(values, Math.min(count, values.length), isBefore).sort((a, b) => (isBefore(a, b) ? -1 : 1));
}

/** All positions. Sorts numbers that have the value in their upper bits and the position in the others. */
function sorted(values: Float32Array): Uint32Array {
  // Adding 0 makes -0 equal to 0.
  const bits = new Int32Array(values.map((value) => value + 0).buffer);
  const keys = new Float64Array(bits.length);
  for (let i = 0; i < bits.length; i++) {
    // As signed numbers, bits have the order of floats if all but the sign of negative ones are flipped.
    const order = bits[i]! < 0 ? bits[i]! ^ 0x7fffffff : bits[i]!;
    keys[i] = -order * POSITIONS + i;
  }
  return Uint32Array.from(keys.sort(), (key) => key - Math.floor(key / POSITIONS) * POSITIONS);
}

/** The numbers from 0 to below `length`. */
export function positions(length: number): Uint32Array {
  const all = new Uint32Array(length);
  for (let i = 0; i < length; i++) all[i] = i;
  return all;
}

/** The first `count` positions of the order, as a heap whose root is the last of them. */
function heapOf(
  values: Float32Array,
  count: number,
  isBefore: (a: number, b: number) => boolean,
): Uint32Array {
  const heap = positions(count);
  for (let i = (count >> 1) - 1; i >= 0; i--) sink(heap, i, isBefore);
  for (let i = count; i < values.length; i++) {
    // Equal values keep the earlier position.
    if (values[i]! <= values[heap[0]!]!) continue;
    heap[0] = i;
    sink(heap, 0, isBefore);
  }
  return heap;
}

function sink(heap: Uint32Array, at: number, isBefore: (a: number, b: number) => boolean): void {
  for (;;) {
    const left = 2 * at + 1;
    if (left >= heap.length) return;
    const right = left + 1;
    const child = right < heap.length && isBefore(heap[left]!, heap[right]!) ? right : left;
    if (!isBefore(heap[at]!, heap[child]!)) return;
    [heap[at], heap[child]] = [heap[child]!, heap[at]!];
    at = child;
  }
}
