// Replaces fast-check in tests. Inputs are the same in every run, so that only changes of the code
// make a run fail. For other inputs:
//   ACC_TEST_SEED=12345 npx vitest run …
import fc from '../node_modules/fast-check/lib/fast-check.js';

fc.configureGlobal({ seed: Number(process.env['ACC_TEST_SEED'] ?? 1) });

export * from '../node_modules/fast-check/lib/fast-check.js';
export { default } from '../node_modules/fast-check/lib/fast-check.js';
