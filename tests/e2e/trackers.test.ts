import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { runRanks } from '@acc/testkit';

interface Result {
  readonly got: Record<string, unknown[]>;
  readonly runs: { name: string; id: string; rank: number; size: number }[];
  readonly names: (string | undefined)[];
}

it('trackers run on the main process, or on all that ask for it, in one run', async () => {
  const script = new URL('./ranks/tracked-ranks.ts', import.meta.url);
  const folder = mkdtempSync(join(tmpdir(), 'acc-ranks-'));
  const ranks = await runRanks<Result>({ script, ranks: 2, args: [folder] });
  for (const { exitCode, stderr } of ranks) expect(exitCode, stderr).toBe(0);
  const [main, other] = ranks.map(({ result }) => result!) as [Result, Result];
  const rows = (rank: number) => [1, 2, 3, 4].map((step) => [step, { rank }]);
  expect(main.got).toEqual({ everywhere: [...rows(0), 'completed'], main: [...rows(0), 'completed'] });
  expect(other.got).toEqual({ everywhere: [...rows(1), 'completed'], main: [] });
  expect([main.names, other.names]).toEqual([
    ['everywhere', 'main'],
    ['everywhere', null],
  ]);
  const [{ id }] = main.runs as [Result['runs'][0]];
  expect(main.runs).toMatchObject([
    { name: 'everywhere', id, rank: 0, size: 2 },
    { name: 'main', id, rank: 0, size: 2 },
  ]);
  expect(other.runs).toEqual([{ name: 'everywhere', id, rank: 1, size: 2 }]);
});
