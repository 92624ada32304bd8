import { spawnSync } from 'node:child_process';
import { join, sep } from 'node:path';
import { root } from '../process.mjs';
import { setup } from '../setup.mjs';

/** True if `gpu:pack` packed this Node. All packages that npm would install are in the pack. */
const isPacked = process.execPath.startsWith(join(root, '.gpu') + sep);

/**
 * Prepares the clone like `npm run setup`, and checks that libtorch can use a GPU.
 *
 * @returns {Promise<{libtorch: object}>} the libtorch that can use a GPU.
 * @throws Error with `code` ACC_NO_GPU. It states what was found and what is needed.
 */
export async function setupGpu() {
  const { native, libtorch } = await setup({ quiet: true, isPacked });
  if (native.deviceCount('cuda') === 0) throw noGpu(libtorch);
  console.log(`torch ${libtorch.version} (${libtorch.variant}) in ${libtorch.root}; ${describeDriver()}`);
  return { libtorch };
}

function noGpu({ version, variant, root: folder }) {
  const isForCpu = variant === 'cpu';
  const found = `Found: torch ${version} (${variant}) in ${folder}${isForCpu ? ', which is built for the CPU alone' : ''}; ${describeDriver()}.`;
  const help = [
    ...(isForCpu
      ? ['Install a torch with CUDA for `python3`, 2.11 to 2.15, or name one by ACC_LIBTORCH.']
      : []),
    'Run this on a machine with an NVIDIA GPU and its driver. Where that has neither Node nor a network, take along what',
    '`npm run gpu:pack` writes: see "On a GPU" in CONTRIBUTING.md.',
  ].join('\n  ');
  const message = `libtorch found no GPU that it can use, so nothing was run.\n${found}\n→ ${help}`;
  return Object.assign(new Error(message), { code: 'ACC_NO_GPU', help });
}

/** The report of NVIDIA's own tool on GPUs and driver, in one line. */
function describeDriver() {
  const query = ['--query-gpu=name,driver_version', '--format=csv,noheader'];
  const { status, error, stdout } = spawnSync('nvidia-smi', query, { encoding: 'utf8' });
  if (error) return 'there is no nvidia-smi, so most likely no driver';
  return status === 0
    ? `nvidia-smi: ${stdout.trim().replaceAll('\n', '; ')}`
    : `nvidia-smi ended with ${status}: ${stdout.trim()}`;
}
