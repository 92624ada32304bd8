// Runs the tests of kernels on a GPU: their unit tests and tfjs-core's specs. `npm run test:gpu`.
// The last line is `N passed, N failed`. Without a GPU nothing runs, and the exit code is 1.
import { runMain } from '../process.mjs';
import { runAndReport, specsJob, vitestJob } from '../queue/index.mjs';
import { setupGpu } from './setup-gpu.mjs';

await runMain(async () => {
  if (process.argv.length > 2) {
    console.error(`Unknown argument: ${process.argv.slice(2).join(' ')}. This script has no arguments.`);
    return 2;
  }
  await setupGpu();
  const config = ['--config', 'tests/gpu/vitest.config.ts'];
  const jobs = [vitestJob('gpu', config, { seconds: 300, memoryGiB: 8 }), specsJob('cuda')];
  return runAndReport(jobs, { keepOrder: true });
});
