// Runs the slow checks before a release: `npm run test:release`, in addition to `npm test`. The
// last line is `N passed, N failed`, summed over all steps.
import { runMain } from './process.mjs';
import { setup } from './setup.mjs';
import { check, counted, runSteps, vitest } from './test-steps.mjs';

await runMain(async () => {
  await setup({ quiet: true });
  return runSteps([
    vitest(['release']),
    check('build', 'npm', ['run', '--silent', 'build']),
    counted('packages', ['tests/architecture/check-packages.mjs']),
    counted('sanitizers', ['scripts/sanitizers.mjs']),
  ]);
});
