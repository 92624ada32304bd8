import { afterEach, expect, it } from 'vitest';
import { memoryStats, releaseCachedMemory } from './memory.js';
import { operator } from './operator.js';
import {
  cutRecording,
  finishRecording,
  startRecording,
  type Allocation,
  type Recording,
} from './recording.js';
import { tensorFrom, type Tensor } from './tensor.js';

const negated = operator('aten::neg');
const add = operator('aten::add.Tensor');
const largest = operator('aten::max');

const SIZE = 1 << 18;
const META = { dtype: 'float32', shape: [SIZE] } as const;
const full = (value: number, size = SIZE) =>
  tensorFrom(new Float32Array(size).fill(value), 'float32', [size]);
const isFullOf = (x: Tensor, value: number) => (x.read() as Float32Array).every((each) => each === value);

let recording: Recording;
afterEach(() => {
  recording.dispose();
  releaseCachedMemory();
});

/** Records `step` for an input of 2^18 elements. */
function record(step: (x: Tensor) => Tensor): void {
  using x = full(1);
  startRecording();
  using result = step(x);
  cutRecording([result]);
  recording = finishRecording() as Recording;
  recording.seal();
}

function replay(value: number): Tensor {
  using x = full(value);
  return recording.replay(0, [x.id], [META])[0]!;
}

/** Two tensors that live at the same time, and a result. */
const chain = (x: Tensor): Tensor => {
  using first = negated(x);
  using second = negated(first);
  return add(first, second);
};

/** Puts allocations one behind the other. */
function behindEachOther(allocations: readonly Allocation[]): number[] {
  let next = 0;
  return allocations.map(({ bytes }) => {
    const place = next;
    next += bytes;
    return place;
  });
}

it('traces which allocations of the first replay end when', () => {
  record(chain);
  expect(recording.allocations()).toEqual([]);
  using kept = replay(1);
  expect(isFullOf(kept, 0)).toBe(true);
  const bytes = 4 * SIZE + 64;
  expect(recording.allocations()).toEqual([
    { bytes, end: 3 },
    { bytes, end: 3 },
    { bytes, end: undefined },
  ]);
});

it('later replays use the arena, give the same values, and keep no allocation outside of it', () => {
  record(chain);
  replay(1).dispose();
  const [first, second] = recording.allocations();
  recording.planMemory([...behindEachOther([first!, second!]), -1], first!.bytes + second!.bytes);
  expect(recording.isMemoryPlanned()).toBe(true);
  for (const value of [2, 3]) {
    using result = replay(value);
    expect(isFullOf(result, 0)).toBe(true);
  }
  releaseCachedMemory();
  const { allocatedBytes, reservedBytes } = memoryStats();
  expect(reservedBytes - allocatedBytes).toBeLessThan(1 << 20);
});

it('never gives out a place that somebody still holds', () => {
  record(chain);
  replay(1).dispose();
  // A wrong plan: all at the same place.
  const bytes = 4 * SIZE + 64;
  recording.planMemory([0, 0, 0], bytes);
  using first = replay(5);
  using second = replay(7);
  expect([first, second].every((x) => isFullOf(x, 0))).toBe(true);
});

it('a replay that allocates in another way gives the same values, and the plan ends after three of them', () => {
  record((x) => {
    using opposite = negated(x);
    return largest(opposite);
  });
  const replayOf = (value: number, size: number) => {
    using x = full(value, size);
    using result = recording.replay(0, [x.id], [{ dtype: 'float32', shape: [] }])[0]!;
    expect(result.read()[0]).toBe(-value);
  };
  replayOf(1, SIZE);
  recording.planMemory([0], recording.allocations()[0]!.bytes);
  for (const size of [SIZE, SIZE / 2, SIZE / 2, SIZE]) replayOf(2, size);
  expect(recording.isMemoryPlanned()).toBe(true);
  for (const size of [SIZE / 2, SIZE / 2, SIZE / 2]) replayOf(3, size);
  expect(recording.isMemoryPlanned()).toBe(false);
  replayOf(4, SIZE);
});

it.each([
  [[0], 1 << 30],
  [[0, 32, -1], 1 << 30],
  [[0, -2, -1], 1 << 30],
  [[0, 64, -1], 4 * SIZE + 64],
])('refuses places %j in an arena of %i bytes', (places, bytes) => {
  record(chain);
  replay(1).dispose();
  expect(() => recording.planMemory(places, bytes)).toThrowError(
    expect.objectContaining({ code: 'ACC_INVALID_ARGUMENT' }),
  );
});
