import { expect, it } from 'vitest';
import { filesOfProjects } from './projects.mjs';
import { shuffledJobs } from './jobs.mjs';

const PURE = 'scripts/queue/weights.test.mjs';
const signal = new AbortController().signal;

it('shuffled jobs have all pure, unit and ranks tests, and new processes for each module of ranks', () => {
  const jobs = shuffledJobs(7);
  const { pure, unit, ranks } = filesOfProjects();
  expect(jobs.flatMap(({ files }) => files).sort()).toEqual([...pure, ...unit, ...ranks].sort());
  for (const { name, files, env = {} } of jobs) {
    expect(name).toMatch(/^(pure|unit|ranks), shuffled by seed 7/);
    const isOfRanks = ranks.includes(files[0]);
    expect(env.ACC_TEST_FRESH_RANKS).toBe(isOfRanks ? '1' : undefined);
  }
});

it('a shuffled job runs vitest with its seed', async () => {
  const [job] = shuffledJobs(7, [PURE]);
  const { passed, failed, output } = await job.run({ signal });
  expect(failed, output).toBe(0);
  expect(passed).toBeGreaterThan(0);
  expect(output).toContain('Running tests with seed "7"');
});

it('refuses files of other projects', () => {
  expect(() => shuffledJobs(7, ['tests/e2e/faults.test.ts'])).toThrow('is no test of the projects pure');
});
