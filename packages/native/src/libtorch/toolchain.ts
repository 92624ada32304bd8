import { AccError } from '@acc/contract';
import { accessSync, constants, existsSync, realpathSync } from 'node:fs';
import { createRequire } from 'node:module';
import { homedir } from 'node:os';
import { delimiter, dirname, join, resolve } from 'node:path';

/** The tools for building the addon, besides libtorch. */
export interface Toolchain {
  /** The script of node-gyp, which this Node.js runs. */
  readonly nodeGyp: string;
  /** The folder that contains `include/node`. Undefined: node-gyp fetches the headers. */
  readonly nodeDir: string | undefined;
}

export interface ToolchainOptions {
  /** Whether node-gyp must not fetch the headers of Node.js. Default false. */
  readonly offline?: boolean | undefined;
  /** Default `process.env`. */
  readonly env?: NodeJS.ProcessEnv;
}

/**
 * Finds the compiler, make, Python and node-gyp, and with `offline` the headers of Node.js.
 *
 * @throws AccError `ACC_TOOLCHAIN_MISSING` with all that is missing and how to install it.
 */
export function requireToolchain({ offline, env = process.env }: ToolchainOptions = {}): Toolchain {
  const compiler = (env['CXX'] ?? '').split(' ')[0] || (process.platform === 'darwin' ? 'c++' : 'g++');
  const missing = [compiler, 'make', 'python3'].filter((command) => !isOnPath(command, env));
  const nodeGyp = findNodeGyp(env);
  const nodeDir = findNodeDir(env);
  const lacksHeaders = offline === true && nodeDir === undefined;
  if (missing.length === 0 && nodeGyp && !lacksHeaders) return { nodeGyp, nodeDir };
  const headers = lacksHeaders ? [`headers of Node.js ${process.versions.node}`] : [];
  const all = [...missing, ...(nodeGyp ? [] : ['node-gyp']), ...headers];
  throw new AccError('ACC_TOOLCHAIN_MISSING', `Building the addon needs ${all.join(', ')}.`, {
    help: [
      ...(missing.length > 0 ? [installHint()] : []),
      ...(nodeGyp ? [] : ['npm install -g node-gyp']),
      ...(lacksHeaders
        ? [
            'run the command without --offline once, or with a Node.js that has include/node (its archives do)',
          ]
        : []),
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

/**
 * Node.js archives contain the headers. Distributions put them next to the `bin` folder. The last
 * place is where node-gyp keeps headers that it has fetched.
 */
function findNodeDir(env: NodeJS.ProcessEnv): string | undefined {
  const folders = [nodePrefix(), join(nodeGypCache(env), process.versions.node)];
  return folders.find((folder) => existsSync(join(folder, 'include', 'node', 'node_api.h')));
}

function nodeGypCache(env: NodeJS.ProcessEnv): string {
  const chosen = env['npm_config_devdir'];
  if (chosen) return chosen.replace(/^~/, homedir());
  if (process.platform === 'darwin') return join(homedir(), 'Library', 'Caches', 'node-gyp');
  return join(env['XDG_CACHE_HOME'] || join(homedir(), '.cache'), 'node-gyp');
}

function nodePrefix(): string {
  return dirname(dirname(realpathSync(process.execPath)));
}
