/**
 * `node bench/check.mjs [--backend cpu|acc] [--python PATH]`: checks that the models are the same
 * on both sides. See README.md.
 */
import { parseArgs } from 'node:util';
import { checkModels } from './harness/check-models.mjs';
import { exitOnError } from './harness/exit-on-error.mjs';
import { ensurePeer } from './peers/setup.mjs';

await exitOnError(() => {
  const { values } = parseArgs({
    options: { backend: { type: 'string', default: 'cpu' }, python: { type: 'string' } },
  });
  return checkModels(values.backend, ensurePeer(values.python));
});
