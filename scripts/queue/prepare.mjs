import { root, run } from '../process.mjs';
import { setup } from '../setup.mjs';

let libtorchFolder;

/**
 * Prepares the checkout for the tests of projects, once for all shards: what the global set-ups of
 * the projects do in a direct run of vitest.
 *
 * @param {readonly string[]} projects
 * @returns {Promise<object>} What `setup` returns.
 */
export async function prepare(projects) {
  const found = await setup({ quiet: true });
  const code = await run(process.execPath, ['--import', 'tsx', `${root}/tests/prepare.ts`, ...projects]);
  if (code !== 0) throw new Error('The tests could not be prepared: the message is above.');
  libtorchFolder = found.libtorch.root;
  return found;
}

/** The folder of libtorch, which each process of a test would otherwise search with Python. */
export function preparedLibtorch() {
  if (libtorchFolder === undefined) throw new Error('Call prepare() before a job runs.');
  return libtorchFolder;
}
