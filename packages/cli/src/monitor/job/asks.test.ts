import {
  chmodSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { Asks } from './asks.js';
import { usualStepMs } from './usual-step.js';

it('writes requests into a folder of its own only, and leaves those of others there', async () => {
  const insight = mkdtempSync(join(tmpdir(), 'acc-asks-'));
  const [mine, other] = [new Asks(insight), new Asks(insight)];
  const folder = join(insight, 'asks');
  const requested = (): unknown => JSON.parse(readFileSync(join(folder, 'request.json'), 'utf8'));
  await mine.write(1, { ask: 'stacks' });
  writeFileSync(join(folder, '1-rank-0.json'), '{"rank":0}');
  writeFileSync(join(folder, '1-rank-1.json'), '{"rank":');
  expect([...(await mine.stacks(1))]).toEqual([[0, { rank: 0 }]]);
  await other.write(2, { ask: 'window', fromStep: 7, steps: 3 });
  await mine.clear(1);
  expect(readdirSync(folder)).toEqual(['request.json']);
  expect(requested()).toEqual({ id: 2, ask: 'window', fromStep: 7, steps: 3 });
  await other.clear(2);
  expect(readdirSync(insight)).toEqual([]);
});

it('follows no link that others have put there', async () => {
  const insight = mkdtempSync(join(tmpdir(), 'acc-asks-'));
  const folder = join(insight, 'asks');
  mkdirSync(folder);
  chmodSync(folder, 0o777);
  await expect(new Asks(insight).write(1, { ask: 'stacks' })).rejects.toThrow(/only this user can write to/);
  chmodSync(folder, 0o700);
  const victim = join(insight, 'victim');
  writeFileSync(victim, 'kept');
  symlinkSync(victim, join(folder, `request.json.${process.pid}.new`));
  await new Asks(insight).write(1, { ask: 'stacks' });
  expect(readFileSync(victim, 'utf8')).toBe('kept');
});

it('knows how long steps take after a pause of minutes', () => {
  const ends = [0, 10, 20, 30, 240_030, 240_040, 240_050].map((end) => ({ end }));
  expect([usualStepMs(ends), usualStepMs(ends.slice(-1)), usualStepMs([])]).toEqual([
    10,
    undefined,
    undefined,
  ]);
});
