import { existsSync, readFileSync, readdirSync, realpathSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { AccError } from '@acc/contract';

/** The tfjs-node of a project. */
export interface TfjsNodePackage {
  /** `@tensorflow/tfjs-node` or `@tensorflow/tfjs-node-gpu`. */
  readonly name: string;
  readonly version: string;
  /** Its real folder: package managers may link to it. */
  readonly path: string;
}

/** A note of {@link setupTfjsNode} in the folder `deps` of the package. */
export interface SetupNote {
  readonly tensorflow: string;
  readonly variant: 'cpu' | 'cuda';
  readonly cache: string;
}

/** Whether a tfjs-node can be loaded, without loading it. */
export interface TfjsNodeState extends TfjsNodePackage {
  /** The version of TensorFlow. Undefined if it cannot be told. */
  readonly tensorflow: string | undefined;
  /** `setup`: by `acc setup tfjs-node`. `install`: by the package's own install script. */
  readonly origin: 'setup' | 'install' | undefined;
  /**
   * The part of the installation that is missing. Undefined: the binding and TensorFlow's libraries
   * are there.
   */
  readonly problem: string | undefined;
}

export const SETUP_NOTE = 'acc-setup.json';

/** The binding in the folder of the package, where tfjs-node 4 on Node.js 20 and newer looks for it. */
export const BINDING = join('lib', 'napi-v8', 'tfjs_binding.node');

/** The version that this package is tested with. Its dependencies are exact versions of tfjs. */
const TESTED = '4.22.0';

export const tfjsNodeName = (gpu: boolean): string => `@tensorflow/tfjs-node${gpu ? '-gpu' : ''}`;

/** Finds the package like Node.js does: in each `node_modules` folder from `cwd` upwards. */
export function findTfjsNode(cwd: string, name: string): TfjsNodePackage | undefined {
  const { resolve } = createRequire(join(cwd, 'program.js'));
  const folder = (resolve.paths(name) ?? [])
    .map((parent) => join(parent, name))
    .find((path) => existsSync(join(path, 'package.json')));
  if (folder === undefined) return undefined;
  const { version } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as { version: string };
  return { name, version, path: realpathSync(folder) };
}

/** @throws AccError `ACC_TFJS_NODE_MISSING`, `ACC_TFJS_NODE_UNSUPPORTED`. */
export function requireTfjsNode(cwd: string, name: string): TfjsNodePackage {
  const install = `npm install --ignore-scripts ${name}@${TESTED}`;
  const found = findTfjsNode(cwd, name);
  if (!found) {
    throw new AccError('ACC_TFJS_NODE_MISSING', `${name} is not installed in ${cwd} or a folder above.`, {
      help: `Run in the folder of your project: ${install} (--ignore-scripts leaves out its own download), then this command again.`,
      details: { cwd, name },
    });
  }
  const [major = 0, minor = 0] = found.version.split('.').map(Number);
  if (major !== 4 || minor < 22) {
    throw new AccError('ACC_TFJS_NODE_UNSUPPORTED', `${name} is ${found.version}, in ${found.path}.`, {
      help: `This command supports 4.22 and newer releases of 4: ${install}`,
      details: { found: found.version },
    });
  }
  return found;
}

/** Reads the state of a tfjs-node from its files. */
export function inspectTfjsNode(found: TfjsNodePackage): TfjsNodeState {
  const note = readNote(found.path);
  const libraries = join(found.path, 'deps', 'lib');
  const own = ownTensorflow(libraries);
  const state = (problem: string | undefined): TfjsNodeState => ({
    ...found,
    tensorflow: note?.tensorflow ?? own,
    origin: note ? 'setup' : own === undefined ? undefined : 'install',
    problem,
  });
  if (!existsSync(join(found.path, BINDING))) return state('its binding to TensorFlow is missing');
  // `existsSync` follows links, so it also tells whether the cache still has the libraries.
  const library = note ? 'libtensorflow_cc.so.2' : 'libtensorflow.so.2';
  if (process.platform === 'linux' && !existsSync(join(libraries, library))) {
    return state(`its TensorFlow is missing (${join(libraries, library)})`);
  }
  return state(undefined);
}

export function readNote(path: string): SetupNote | undefined {
  const file = join(path, 'deps', SETUP_NOTE);
  return existsSync(file) ? (JSON.parse(readFileSync(file, 'utf8')) as SetupNote) : undefined;
}

/** The version of the TensorFlow that the install script fetched, by the name of its library. */
function ownTensorflow(libraries: string): string | undefined {
  if (!existsSync(libraries)) return undefined;
  const names = readdirSync(libraries).map((name) => /^libtensorflow\.so\.(\d+\.\d+\.\d+)$/.exec(name)?.[1]);
  return names.find((version) => version !== undefined);
}
