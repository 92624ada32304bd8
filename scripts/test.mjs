// Prepares the clone and runs all checks: `npm test`, or `npm test -- --fast` for the unit and
// architecture tests. The last line is `N passed, N failed`, summed over all steps.
import { runMain } from './process.mjs';
import { setup } from './setup.mjs';
import { check, runSteps, tfjsSpecs, vitest } from './test-steps.mjs';

await runMain(async () => {
  const unknown = process.argv.slice(2).filter((argument) => argument !== '--fast');
  if (unknown.length > 0) {
    console.error(`Unknown argument: ${unknown.join(' ')}. Known: --fast`);
    return 2;
  }
  await setup({ quiet: true });
  const [unit, architecture] = [vitest(['unit']), vitest(['architecture'])];
  if (process.argv.includes('--fast')) return runSteps([unit, architecture]);
  // Lint takes longer on one core than the other steps.
  const checks = [
    check('lint', 'npm', ['run', '--silent', 'lint']),
    check('types', 'npm', ['run', '--silent', 'typecheck']),
    architecture,
  ];
  return runSteps([checks, unit, vitest(['e2e', 'hosts']), tfjsSpecs()]);
});
