import { expect, it } from 'vitest';
import { SystemClock } from './system.js';

/** Time and CPU time of this process, in milliseconds. */
function readTimes(): { wallMs: number; cpuMs: number } {
  const { user, system } = process.cpuUsage();
  return { wallMs: performance.now(), cpuMs: (user + system) / 1_000 };
}

it('returns the CPU use since the last call, and the memory', () => {
  let before = readTimes();
  const clock = new SystemClock();
  let after = readTimes();
  for (const busyMs of [300, 200]) {
    const untilMs = after.cpuMs + busyMs;
    while (readTimes().cpuMs < untilMs);
    const nextBefore = readTimes();
    const figures = clock.take();
    const nextAfter = readTimes();
    // The clock reads at some time between those two, on a busy machine perhaps long after the first.
    const least = (nextBefore.cpuMs - after.cpuMs) / (nextAfter.wallMs - before.wallMs);
    const most = (nextAfter.cpuMs - before.cpuMs) / (nextBefore.wallMs - after.wallMs);
    expect(figures.processCpuPercent).toBeGreaterThanOrEqual(99 * least);
    expect(figures.processCpuPercent).toBeLessThanOrEqual(101 * most);
    expect(figures.processMemoryMib).toBeGreaterThan(10);
    expect(figures.hostCpuPercent).toBeGreaterThan(0);
    expect(figures.hostCpuPercent).toBeLessThanOrEqual(100);
    expect(figures.hostMemoryMib).toBeGreaterThan(figures.processMemoryMib);
    [before, after] = [nextBefore, nextAfter];
  }
});
