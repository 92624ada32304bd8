import { cpSync, mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';
import { LiveDiagnosis } from './live-diagnosis.js';

const recorded = fileURLToPath(
  new URL('../../../records/src/testing/runs/buckets-of-4-KiB', import.meta.url),
);

it('a critical finding is told once, after 30 s, and then after twice the time', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'acc-live-'));
  const told: string[] = [];
  const clock = { now: 0 };
  const live = new LiveDiagnosis({
    tell: (message, step) => void told.push(`${step}: ${message}`),
    now: () => clock.now,
  });
  const stepAt = (seconds: number) => {
    clock.now = 1000 * seconds;
    return live.step(folder, seconds);
  };
  expect(stepAt(0)).toBeUndefined();
  // There are no records yet.
  await stepAt(30);
  cpSync(recorded, join(folder, 'insight'), { recursive: true });
  expect(stepAt(59)).toBeUndefined();
  await stepAt(60);
  const ofBuckets = told.filter((text) => text.includes('small-buckets'));
  expect(ofBuckets).toHaveLength(1);
  expect(ofBuckets[0]).toMatch(/^60: small-buckets, \d+ %: .* Change ddp\.bucketBytes to 26214400\. /);
  expect(ofBuckets[0]).toContain(`acc diagnose ${join(folder, 'insight')} has the figures.`);
  const count = told.length;
  expect(stepAt(119)).toBeUndefined();
  await stepAt(120);
  expect(told).toHaveLength(count);
});
