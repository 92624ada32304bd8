import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it, vi } from 'vitest';
import { torchVersion } from '@acc/native';
import { MemoryTimeline } from './memory-owners.js';
import { StoredPeaks } from './stored-peaks.js';

const asked = { dtype: 'float32', device: 'cpu', localSize: 1 } as const;
const peak = (flopsPerSecond: number, measuredAt = Date.now()) =>
  ({ flopsPerSecond, dtype: 'float32', size: 8, threads: 1, bytesPerSecond: 1, measuredAt }) as const;

it('a higher peak replaces a stored one, and a lower one does not', () => {
  // The addon comes from the usual cache.
  torchVersion();
  vi.stubEnv('ACC_CACHE_DIR', mkdtempSync(join(tmpdir(), 'acc-peaks-')));
  const peaks = new StoredPeaks(asked);
  expect(peaks.stored).toBeUndefined();
  const flops = [3, 5, 4].map((flopsPerSecond) => peaks.keepHigher(peak(flopsPerSecond)).flopsPerSecond);
  expect(flops).toEqual([3, 5, 5]);
  expect(new StoredPeaks(asked).stored?.flopsPerSecond).toBe(5);
  // Peaks are valid for 30 days.
  peaks.keepHigher(peak(6, Date.now() - 31 * 24 * 60 * 60 * 1000));
  expect(peaks.stored).toBeUndefined();
  vi.unstubAllEnvs();
});

it('a timeline of memory has a limit', () => {
  const timeline = new MemoryTimeline(true, 8);
  for (let at = 0; at < 100; at++) timeline.sample(at);
  expect(timeline.samples.length).toBeLessThanOrEqual(8);
  expect(timeline.samples[0]!.at).toBe(0);
  expect(timeline.samples.at(-1)!.at).toBeGreaterThan(90);
});
