import { mkdtempSync, readdirSync, readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { runRanks } from '@acc/testkit';

interface Result {
  readonly got: Record<string, unknown[]>;
  readonly runs: { name: string; id: string; rank: number; size: number }[];
  readonly names: (string | undefined)[];
}

it('a run continues from the step of its checkpoint', async () => {
  const script = new URL('./ranks/tracked-resume.ts', import.meta.url);
  const folder = mkdtempSync(join(tmpdir(), 'acc-resume-'));
  const [first] = await runRanks({ script, ranks: 1, args: [folder] });
  expect(first!.stderr).toContain('the power goes out');
  const [second] = await runRanks({ script, ranks: 1, args: [folder] });
  expect(second!.exitCode, second!.stderr).toBe(0);
  const runs = readdirSync(join(folder, 'runs', 'resumed'));
  expect(runs).toHaveLength(1);
  const text = readFileSync(join(folder, 'runs', 'resumed', runs[0]!, 'metrics.jsonl'), 'utf8');
  const lines = text
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as Record<string, unknown>);
  expect(lines.map(({ _timeMs, ...line }) => line)).toEqual([
    { _config: { attempt: 1 } },
    ...[0, 1, 2].map((i) => ({ _step: i + 1, i })),
    { _status: 'failed' },
    { _config: { attempt: 2 } },
    ...[0, 1, 2].map((i) => ({ _step: i + 4, i })),
    { _status: 'completed' },
  ]);
});

it('trackers run on the main process, or on all ranks that ask for it, in one run', async () => {
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
