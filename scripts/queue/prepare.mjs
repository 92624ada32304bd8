import { root, run } from '../process.mjs';
import { setup } from '../setup.mjs';

/**
 * Prepares the checkout for the tests of projects, once for all shards: what the global set-up of
 * each project does in a direct run of vitest.
 *
 * @param {readonly string[]} projects
 */
export async function prepare(projects) {
  const { libtorch } = await setup({ quiet: true });
  // tests/prepared.ts reads it.
  process.env['ACC_TESTS_PREPARED'] = libtorch.root;
  const code = await run(process.execPath, ['--import', 'tsx', `${root}/tests/prepare.ts`, ...projects]);
  if (code !== 0) throw new Error('The tests could not be prepared: the message is above.');
}
