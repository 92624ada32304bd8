import { AccError } from '@acc/contract';
import { accessSync, constants, existsSync, realpathSync } from 'node:fs';
import { createRequire } from 'node:module';
import { delimiter, dirname, join, resolve } from 'node:path';

/** The tools for building the addon, besides libtorch. */
export interface Toolchain {
  /** The script of node-gyp, which this Node.js runs. */
  readonly nodeGyp: string;
  /** The folder that contains `include/node`. Undefined: node-gyp fetches the headers. */
  readonly nodeDir: string | undefined;
}

/**
 * Finds the compiler, make, Python and node-gyp.
 *
 * @throws AccError `ACC_TOOLCHAIN_MISSING` with all missing tools and how to install them.
 */
export function requireToolchain(env: NodeJS.ProcessEnv = process.env): Toolchain {
  const compiler = (env['CXX'] ?? '').split(' ')[0] || (process.platform === 'darwin' ? 'c++' : 'g++');
  const missing = [compiler, 'make', 'python3'].filter((command) => !isOnPath(command, env));
  const nodeGyp = findNodeGyp(env);
  if (missing.length === 0 && nodeGyp) return { nodeGyp, nodeDir: findNodeDir() };
  const all = [...missing, ...(nodeGyp ? [] : ['node-gyp'])];
  throw new AccError('ACC_TOOLCHAIN_MISSING', `Building the addon needs ${all.join(', ')}.`, {
    help: [
      ...(missing.length > 0 ? [installHint()] : []),
      ...(nodeGyp ? [] : ['npm install -g node-gyp']),
    ].join(' and '),
    details: { missing: all },
  });
}

function installHint(): string {
  return process.platform === 'darwin'
    ? 'xcode-select --install'
    : 'sudo apt-get install -y g++ make python3 (Fedora: sudo dnf install gcc-c++ make python3)';
}

function isOnPath(command: string, env: NodeJS.ProcessEnv): boolean {
  const folders = command.includes('/') ? [''] : (env['PATH'] ?? '').split(delimiter).filter(Boolean);
  return folders.some((folder) => {
    try {
      accessSync(resolve(folder, command), constants.X_OK);
      return true;
    } catch {
      return false;
    }
  });
}

/** The node-gyp installed beside this package, else the one in npm. */
function findNodeGyp(env: NodeJS.ProcessEnv): string | undefined {
  try {
    return createRequire(import.meta.url).resolve('node-gyp/bin/node-gyp.js');
  } catch {
    const npmFolders = [
      ...(env['npm_execpath'] ? [dirname(dirname(env['npm_execpath']))] : []),
      join(nodePrefix(), 'lib', 'node_modules', 'npm'),
    ];
    return npmFolders
      .map((npm) => join(npm, 'node_modules', 'node-gyp', 'bin', 'node-gyp.js'))
      .find((script) => existsSync(script));
  }
}

/** Node.js archives contain the headers. Distributions put them next to the `bin` folder. */
function findNodeDir(): string | undefined {
  return existsSync(join(nodePrefix(), 'include', 'node', 'node_api.h')) ? nodePrefix() : undefined;
}

function nodePrefix(): string {
  return dirname(dirname(realpathSync(process.execPath)));
}
