import { cpSync, mkdtempSync, readFileSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';
import { follow } from './follow.js';

const recorded = fileURLToPath(
  new URL('../../../records/src/testing/runs/tensors-that-stay', import.meta.url),
);

it('a run that grows is told of its findings once, and its end', async () => {
  const folder = join(mkdtempSync(join(tmpdir(), 'acc-follow-')), '1');
  const insight = join(folder, 'insight');
  cpSync(recorded, insight, { recursive: true });
  const path = join(insight, 'steps-rank-0.acc');
  const whole = readFileSync(path);
  truncateSync(path, Math.floor(whole.length / 4));
  const written: string[] = [];
  let looks = 0;
  // The run writes its other steps, and then no more.
  const now = () => {
    if (++looks === 2) writeFileSync(path, whole);
    return looks > 3 ? Date.now() : 0;
  };
  await follow(folder, true, { write: (text) => void written.push(text), now, everyMs: 2100 });
  const events = written.map(
    (line) => JSON.parse(line) as { event: string; step: number; finding?: { id: string } },
  );
  expect(events.filter(({ finding }) => finding?.id === 'leak').map(({ event }) => event)).toEqual(['found']);
  expect(events.at(-1)).toEqual({ event: 'ended', step: 130 });
  const text: string[] = [];
  await follow(folder, false, { write: (part) => void text.push(part) });
  expect(text.join('')).toMatch(/^step 130: leak \(critical\): /);
  expect(text.join('')).toContain('The run writes no records any more.');
  rmSync(folder, { recursive: true });
});
