import { AccError } from '@acc/contract';
import { accessSync, constants, existsSync, realpathSync } from 'node:fs';
import { createRequire } from 'node:module';
import { delimiter, dirname, join, resolve } from 'node:path';

/** What building the addon takes, beside libtorch. */
export interface Toolchain {
  /** node-gyp's script, to be run by this Node. */
  readonly nodeGyp: string;
  /** The folder that holds `include/node`, or undefined: node-gyp fetches the headers then. */
  readonly nodeDir: string | undefined;
}

/**
 * Finds compiler, make, Python and node-gyp.
 *
 * @throws AccError `ACC_TOOLCHAIN_MISSING` naming all that is missing and what installs it.
 */
export function requireToolchain(env: NodeJS.ProcessEnv = process.env): Toolchain {
  const compiler = (env['CXX'] ?? '').split(' ')[0] || (process.platform === 'darwin' ? 'c++' : 'g++');
  const missing = [compiler, 'make', 'python3'].filter((command) => !isOnPath(command, env));
  const nodeGyp = findNodeGyp(env);
  if (missing.length === 0 && nodeGyp) return { nodeGyp, nodeDir: findNodeDir() };
  const all = [...missing, ...(nodeGyp ? [] : ['node-gyp'])];
  throw new AccError('ACC_TOOLCHAIN_MISSING', `To build the addon, ${all.join(', ')} must be there.`, {
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

/** The one installed beside this package, else the one that npm carries. */
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

/** Node's archives carry the headers; a distribution puts them beside its `bin` too. */
function findNodeDir(): string | undefined {
  return existsSync(join(nodePrefix(), 'include', 'node', 'node_api.h')) ? nodePrefix() : undefined;
}

function nodePrefix(): string {
  return dirname(dirname(realpathSync(process.execPath)));
}
