// Runs the slow checks before a release: `npm run test:release`, in addition to `npm test`. The
// last line is `N passed, N failed`, summed over all jobs.
import { randomInt } from 'node:crypto';
import { runMain } from './process.mjs';
import { commandJob, countedJob, prepare, releaseJobs, runAndReport, shuffledJob } from './queue/index.mjs';

await runMain(async () => {
  await prepare(['release']);
  const alone = { processor: Infinity, memoryGiB: 4 };
  const jobs = [
    shuffledJob(process.env['ACC_TEST_SEED'] ?? randomInt(1_000_000)),
    ...releaseJobs(),
    commandJob('build', 'npm', ['run', '--silent', 'build'], { ...alone, seconds: 60 }),
    countedJob('packages', ['tests/architecture/check-packages.mjs'], { ...alone, seconds: 120 }),
    countedJob('sanitizers', ['scripts/sanitizers.mjs'], { ...alone, seconds: 600 }),
  ];
  return runAndReport(jobs, { keepOrder: true });
});
