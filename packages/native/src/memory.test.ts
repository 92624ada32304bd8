import { expect, it } from 'vitest';
import { memoryStats, releaseCachedMemory, resetPeakMemory } from './memory.js';
import { operator } from './operator.js';
import { tensorFrom, type Tensor } from './tensor.js';

const MIB = 2 ** 20;
const empty = operator('aten::empty.memory_format');

/** Allocates tensors of `sizes` MiB, all at a time, and frees them. Returns the MiB that came from the system. */
function use(sizes: readonly number[]): number {
  let fromSystem = 0;
  const made = sizes.map((size) => {
    const before = memoryStats().reservedBytes;
    // Nothing is written, so pages stay with the system.
    const tensor = empty([(size * MIB) / 4], 'float32') as Tensor;
    fromSystem += (memoryStats().reservedBytes - before) / MIB;
    return tensor;
  });
  for (const tensor of made) tensor.dispose();
  return fromSystem;
}

it('keeps freed memory of a step that a later step has asked the system for again', () => {
  // Neither fits into the segments of the other: together they exceed the peak and the slack.
  const step = () => use([40, 40, 40, 40, 40, 40, 40]) + use([300]);
  const steps = () => {
    releaseCachedMemory();
    resetPeakMemory();
    return [step(), step(), step(), step()];
  };
  const [first, second, ...later] = steps();
  expect(first).toBeGreaterThan(580);
  // The large segment went back to the system, and was needed again.
  expect(second).toBeGreaterThan(300);
  expect(second).toBeLessThan(310);
  expect(later).toEqual([0, 0]);
  // Memory that the program gives back is not expected to be needed again.
  expect(steps()).toEqual([first, second, 0, 0]);
  releaseCachedMemory();
});

it('returns the free pages of a segment that is partly in use, and uses them again', () => {
  releaseCachedMemory();
  const before = memoryStats().reservedBytes / MIB;
  const filled = (count: number, value: number) =>
    tensorFrom(new Float32Array(count * MIB).fill(value), 'float32', [count * MIB]);
  const [large, small] = [filled(4, 1), filled(0.25, 2)];
  large.dispose();
  releaseCachedMemory();
  expect(memoryStats().reservedBytes / MIB - before).toBeLessThan(2);
  const again = filled(2, 3);
  expect(memoryStats().reservedBytes / MIB - before).toBeGreaterThan(8);
  expect(memoryStats().reservedBytes / MIB - before).toBeLessThan(11);
  const isFull = (tensor: Tensor, value: number) => (tensor.read() as Float32Array).every((x) => x === value);
  expect([isFull(small, 2), isFull(again, 3)]).toEqual([true, true]);
  for (const tensor of [small, again]) tensor.dispose();
  releaseCachedMemory();
});
