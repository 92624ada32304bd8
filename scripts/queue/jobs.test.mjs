import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { root } from '../process.mjs';
import { byVariables, divideUnits, filesOfProjects } from './projects.mjs';
import { jobsForProjects, shuffledJobs } from './jobs.mjs';

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

it('unit tests that only compare values share a process with those of their package', () => {
  const { unit } = filesOfProjects();
  const { apart, together } = divideUnits(unit);
  expect([...apart, ...together.flat()].sort()).toEqual(unit.toSorted());
  expect(together.flat().length).toBeGreaterThan(40);
  for (const files of together) expect(new Set(files.map((file) => file.split('/')[1])).size).toBe(1);
  // It counts the tensors of its process.
  expect(apart).toContain('packages/kernels/src/no-leak.test.ts');
  const jobs = jobsForProjects(['unit']);
  for (const files of together) expect(jobs.map((job) => job.files)).toContainEqual(files);
});

it('tests of ranks with the same variables are neighbours, so that their ranks go on', () => {
  const { ranks } = filesOfProjects();
  const files = byVariables(ranks);
  const ofKernels = files.map((file) => readFileSync(join(root, file), 'utf8').includes('SAME_KERNELS'));
  expect(files.toSorted()).toEqual(ranks);
  expect(ofKernels.lastIndexOf(true)).toBeLessThan(ofKernels.indexOf(false));
  expect(
    jobsForProjects(['ranks'])
      .flatMap((job) => job.files)
      .sort(),
  ).toEqual(ranks);
});

it('refuses files of other projects', () => {
  expect(() => shuffledJobs(7, ['tests/e2e/faults.test.ts'])).toThrow('is no test of the projects pure');
});
