// Runs the slow checks before a release: `npm run test:release`, in addition to `npm test`. With test
// files, runs these alone, in the order of ACC_TEST_ORDER: `npm run test:release -- <file> …`. The last
// line is `N passed, N failed`, summed over all jobs.
import { randomInt } from 'node:crypto';
import { runMain } from './process.mjs';
import { commandJob, countedJob, prepare, releaseJobs, runAndReport, shuffledJobs } from './queue/index.mjs';

await runMain(async () => {
  const files = process.argv.slice(2);
  const seed = process.env['ACC_TEST_ORDER'] ?? randomInt(1_000_000);
  const shuffled = shuffledJobs(seed, files.length > 0 ? files : undefined);
  await prepare(['unit', 'ranks', ...(files.length > 0 ? [] : ['release'])]);
  console.log(`Tests are shuffled by seed ${seed}. ACC_TEST_ORDER=${seed} repeats their order.`);
  if (files.length > 0) return runAndReport(shuffled);
  const alone = { processor: Infinity, memoryGiB: 4 };
  const jobs = [
    ...shuffled,
    ...releaseJobs(),
    commandJob('build', 'npm', ['run', '--silent', 'build'], { ...alone, seconds: 60 }),
    commandJob('abi', process.execPath, ['scripts/native-packages/abi-report.mjs', '--check'], {
      seconds: 10,
      memoryGiB: 1,
    }),
    countedJob('packages', ['tests/architecture/check-packages.mjs'], { ...alone, seconds: 120 }),
    countedJob('portable', ['tests/platforms/portable.mjs'], { ...alone, seconds: 60 }),
    countedJob('torch', ['scripts/test-torch.mjs'], { ...alone, seconds: 1200 }),
    countedJob('nodes', ['scripts/test-nodes.mjs'], { ...alone, seconds: 1200 }),
    countedJob('sanitizers', ['scripts/sanitizers.mjs'], { ...alone, seconds: 600 }),
  ];
  return runAndReport(jobs, { keepOrder: true });
});
