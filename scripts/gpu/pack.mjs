// Packs everything that a checkout needs on a machine with a GPU, a Python with torch, and g++, but
// without Node and a network: this Node with its headers, make, the installed packages that tests
// and benchmarks use, and our built packages. `npm run gpu:pack` writes `.gpu/pack.tar.xz`.
// `in-pack.sh` unpacks it there and runs a command with it.
import { spawnSync } from 'node:child_process';
import {
  copyFileSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { bundleSpecs } from '../../tests/tfjs-core-specs/bundle.mjs';
import { root, runMain } from '../process.mjs';
import { setup } from '../setup.mjs';
import { builtFiles, installedFiles } from './packed-files.mjs';

const PACK = join('.gpu', 'pack.tar.xz');
/** The size limit of some ways to transfer a checkout. */
const LIMIT_MIB = 64;

await runMain(async () => {
  await setup({ quiet: true });
  await bundleSpecs('acc');
  const stage = mkdtempSync(join(tmpdir(), 'acc-gpu-pack-'));
  try {
    stageTools(join(stage, '.gpu'));
    const list = join(stage, 'files');
    const files = [...installedFiles(), ...builtFiles()];
    writeFileSync(list, files.join('\0'));
    mkdirSync(join(root, '.gpu'), { recursive: true });
    archive(stage, list);
    const mib = statSync(join(root, PACK)).size / 2 ** 20;
    console.log(`${PACK}: ${mib.toFixed(1)} MiB, ${files.length} files, Node ${process.versions.node}`);
    if (mib <= LIMIT_MIB) return 0;
    console.error(`It is larger than ${LIMIT_MIB} MiB: leave out more in scripts/gpu/packed-files.mjs`);
    return 1;
  } finally {
    rmSync(stage, { recursive: true, force: true });
  }
});

/**
 * Adds Node as `node/bin/node`, its headers where node-gyp looks for them, and the make that
 * node-gyp calls.
 */
function stageTools(folder) {
  refuseSharedNode();
  const prefix = dirname(dirname(process.execPath));
  const headers = join(prefix, 'include', 'node');
  if (!existsSync(join(headers, 'node_api.h'))) {
    throw new Error(
      `Node's headers are not in ${headers}. Install Node from its own archive, which has them.`,
    );
  }
  mkdirSync(join(folder, 'node', 'bin'), { recursive: true });
  copyFileSync(process.execPath, join(folder, 'node', 'bin', 'node'));
  const isNeeded = (path) => basename(path) !== 'openssl';
  cpSync(headers, join(folder, 'node', 'include', 'node'), { recursive: true, filter: isNeeded });
  mkdirSync(join(folder, 'bin'));
  copyFileSync(output('sh', ['-c', 'command -v make']).trim(), join(folder, 'bin', 'make'));
}

/** A Node that needs additional libraries does not run on another machine. */
function refuseSharedNode() {
  const needed = output('ldd', [process.execPath]);
  if (!/libnode\.so/.test(needed)) return;
  throw new Error(
    `${process.execPath} needs libnode.so. Pack with a Node from its own archive, which is one file.`,
  );
}

function archive(stage, list) {
  const target = join(root, PACK);
  const args = ['-cJf', target, '-C', stage, '.gpu', '-C', root, '--null', '-T', list];
  output('tar', args, { XZ_OPT: '-T0' });
}

function output(command, args, env = {}) {
  const { status, error, stdout, stderr } = spawnSync(command, args, {
    encoding: 'utf8',
    env: { ...process.env, ...env },
  });
  if (error) throw error;
  if (status !== 0) throw new Error(`${command} ${args.join(' ')} ended with ${status}: ${stderr}`);
  return stdout;
}
