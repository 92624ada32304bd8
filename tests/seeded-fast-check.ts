// Stands in for fast-check in tests: the same inputs in every run, so that a run fails for what was changed. Other inputs:
// ACC_TEST_SEED=12345 npx vitest run …
import fc from '../node_modules/fast-check/lib/fast-check.js';

fc.configureGlobal({ seed: Number(process.env['ACC_TEST_SEED'] ?? 1) });

export * from '../node_modules/fast-check/lib/fast-check.js';
export { default } from '../node_modules/fast-check/lib/fast-check.js';
