import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';
import { runAcc } from '../../fixtures/run-acc.js';

const recorded = fileURLToPath(
  new URL('../../../records/src/testing/runs/rank-1-computes-twice-as-much', import.meta.url),
);

it('prints findings, the most costly first, or their JSON alone', async () => {
  const { stdout } = await runAcc(['diagnose', recorded]);
  expect(stdout).toMatch(/^\d+ steps of 2 ranks, /);
  expect(stdout).toMatch(/\nslow-rank +\d+ % +\d+ % \(\d+-\d+\) +1 /);
  expect(stdout).toContain('Rank 1 computes longer, and all others wait for it.');
  const json = await runAcc(['diagnose', recorded, '--json']);
  const findings = JSON.parse(json.stdout) as { readonly id: string; readonly ranks: number[] }[];
  expect(findings.find(({ id }) => id === 'slow-rank')!.ranks).toEqual([1]);
  expect(json.stderr).toContain('uneven-work: not judged: ');
});

it('says what a folder without records needs', async () => {
  const { stderr, code } = await runAcc(['diagnose', fileURLToPath(new URL('.', import.meta.url))]);
  expect(code).toBe(2);
  expect(stderr).toContain('ACC_RECORDS_MISSING');
  expect(stderr).toContain('autoLog: true');
});
