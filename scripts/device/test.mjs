// Runs the tests of kernels, the training of every layer, training on ranks, and tfjs-core's specs on
// the device of tests (tests/device). `npm run test:device`. The last line is `N passed, N failed`.
import { runMain } from '../process.mjs';
import { deviceJob, runAndReport, specsJob, vitestJob } from '../queue/index.mjs';
import { setup } from '../setup.mjs';

await runMain(async () => {
  if (process.argv.length > 2) {
    console.error(`Unknown argument: ${process.argv.slice(2).join(' ')}. This script has no arguments.`);
    return 2;
  }
  await setup({ quiet: true });
  const { lateLibrary } = await import('../../tests/device/late-device.ts');
  process.env.ACC_LATE_DEVICE = lateLibrary();
  const config = ['--config', 'tests/device/vitest.config.ts'];
  const programs = vitestJob('programs on the device', [...config, 'tests/device/programs'], {
    seconds: 120,
    memoryGiB: 4,
  });
  const kernels = vitestJob('kernels on the device', [...config, 'packages/kernels', 'tests/layers-parity'], {
    seconds: 900,
    memoryGiB: 4,
  });
  return runAndReport([deviceJob(), programs, kernels, specsJob('late')], { keepOrder: true });
});
