import { expect, it } from 'vitest';
import { SystemClock } from './system.js';

it('returns the CPU use since the last call, and the memory', () => {
  const clock = new SystemClock();
  for (const busyMs of [300, 200]) {
    const [startMs, used] = [performance.now(), process.cpuUsage()];
    while (process.cpuUsage(used).user < 1_000 * busyMs);
    const elapsedMs = performance.now() - startMs;
    const { user, system } = process.cpuUsage(used);
    const figures = clock.take();
    const percent = (user + system) / 10 / elapsedMs;
    expect(figures.processCpuPercent / percent).toBeGreaterThan(0.6);
    expect(figures.processCpuPercent / percent).toBeLessThan(1.4);
    expect(figures.processMemoryMib).toBeGreaterThan(10);
    expect(figures.hostCpuPercent).toBeGreaterThan(0);
    expect(figures.hostCpuPercent).toBeLessThanOrEqual(100);
    expect(figures.hostMemoryMib).toBeGreaterThan(figures.processMemoryMib);
  }
});
