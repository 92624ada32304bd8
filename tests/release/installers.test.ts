// Users install the packages from a registry. `npm run test:installers`.
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { requireLibtorch } from '@acc/native';
import { run } from '../e2e/trackers/packing.js';
import { startMirror, startProxy, zipOf, type InstalledProgram, type Mirror } from './mirror.js';

const LIMIT = { timeout: 600_000 };
const libtorch = requireLibtorch();

let mirror: Mirror;
beforeAll(async () => void (mirror = await startMirror()), 900_000);
afterAll(() => mirror[Symbol.asyncDispose]());

const TRAINING = `
import * as tf from '@tensorflow/tfjs';
import { Accelerator } from '@acc/core';

const accelerator = await Accelerator.create();
const layer = tf.layers.dense({ units: 1, inputShape: [2], useBias: false, weights: [tf.ones([2, 1])] });
const [model, optimizer] = accelerator.prepare(tf.sequential({ layers: [layer] }), tf.train.sgd(0.25));
const xs = tf.tensor2d([[1, 2]]);
optimizer.minimize(() => tf.mean(model.apply(xs)));
console.log(JSON.stringify({ backend: tf.getBackend(), weights: [...model.getWeights()[0].dataSync()] }));
await accelerator.endTraining();
`;
const TRAINED = '{"backend":"acc","weights":[0.75,0.5]}';

const DEPENDENCIES = { '@acc/core': 'latest', '@tensorflow/tfjs': '4.22.0' };

interface Run {
  readonly status: number | null;
  readonly printed: string;
}

/** A folder of a user, with settings, caches and a home of its own. */
class Project {
  readonly folder = mkdtempSync(join(tmpdir(), 'acc-installer-'));
  readonly env: NodeJS.ProcessEnv;

  constructor(files: Readonly<Record<string, string | object>> = {}) {
    const home = mkdtempSync(join(tmpdir(), 'acc-home-'));
    const kept = Object.entries(process.env).filter(
      ([name]) => !/^(npm_|ACC_|VITEST|YARN|BUN_|DENO_|NODE_)/i.test(name),
    );
    this.env = {
      ...Object.fromEntries(kept),
      HOME: home,
      ACC_CACHE_DIR: join(home, 'acc'),
      ACC_LIBTORCH: libtorch.root,
      NO_COLOR: '1',
      CI: '1',
    };
    const manifest = { private: true, type: 'module', dependencies: DEPENDENCIES };
    this.write({ 'package.json': manifest, '.npmrc': `registry=${mirror.url}\n`, 'train.mjs': TRAINING });
    this.write(files);
  }

  write(files: Readonly<Record<string, string | object>>): void {
    for (const [name, text] of Object.entries(files)) {
      const path = join(this.folder, name);
      mkdirSync(dirname(path), { recursive: true });
      writeFileSync(path, typeof text === 'string' ? text : JSON.stringify(text));
    }
  }

  /** Runs a command in the folder or one below it. */
  run(command: string, args: readonly string[], more: { cwd?: string; env?: object } = {}): Run {
    const { cwd = '', env = {} } = more;
    const { status, stdout, stderr, error } = spawnSync(command, args, {
      cwd: join(this.folder, cwd),
      env: { ...this.env, ...env },
      encoding: 'utf8',
      maxBuffer: 2 ** 26,
    });
    return { status, printed: `${stdout}${stderr}${error?.message ?? ''}` };
  }

  /** Runs a command that must succeed. */
  must(...given: Parameters<Project['run']>): string {
    const { status, printed } = this.run(...given);
    expect(status, printed).toBe(0);
    return printed;
  }
}

const FLAGS = ['--no-audit', '--no-fund', '--loglevel=error'];

/** Sets up, and trains on two ranks. `acc` is the command of the installer that runs `acc`. */
function expectTrains(
  project: Project,
  [command, ...acc]: readonly [string, ...string[]],
  more: { cwd?: string } = {},
): void {
  const setup = project.must(command, [...acc, 'setup'], more);
  expect(setup).toMatch(/addon, package, .*native-[\w-]+\S*\/torch-/);
  const printed = project.must(command, [...acc, 'launch', '-n', '2', 'train.mjs'], more);
  const lines = printed.split('\n').filter((line) => line.includes('weights'));
  expect(lines.sort(), printed).toEqual([`[0] ${TRAINED}`, `[1] ${TRAINED}`]);
}

const NPX = ['npx', '--no-install', 'acc'] as const;

describe('npm', LIMIT, () => {
  it('from a mirror, through a proxy', async () => {
    await using proxy = await startProxy();
    const project = new Project();
    // Asynchronously, because the proxy is in this process.
    const settings = {
      npm_config_proxy: proxy.url,
      npm_config_https_proxy: proxy.url,
      npm_config_noproxy: '',
    };
    await run('npm', ['install', ...FLAGS], project.folder, { ...project.env, ...settings });
    expect(proxy.passed()).toBeGreaterThan(20);
    expectTrains(project, NPX);
  });

  it('in workspaces', () => {
    const project = new Project({
      'package.json': { private: true, workspaces: ['apps/*'] },
      'apps/train/package.json': { name: 'train', type: 'module', dependencies: DEPENDENCIES },
      'apps/train/train.mjs': TRAINING,
    });
    project.must('npm', ['install', ...FLAGS]);
    expectTrains(project, NPX, { cwd: 'apps/train' });
  });

  it('in workspaces with two versions of tfjs: the error names the folders of both', () => {
    const tfjs = '4.21.0';
    const project = new Project({
      'package.json': { private: true, workspaces: ['apps/*'] },
      'apps/train/package.json': { name: 'train', type: 'module', dependencies: DEPENDENCIES },
      'apps/old/package.json': { name: 'old', type: 'module', dependencies: { '@tensorflow/tfjs': tfjs } },
      'apps/old/train.mjs': TRAINING,
    });
    project.must('npm', ['install', ...FLAGS]);
    const { status, printed } = project.run(process.execPath, ['train.mjs'], { cwd: 'apps/old' });
    expect(status, printed).toBe(1);
    expect(printed).toContain('AccError [ACC_TFJS_COPIES]');
    const folders = printed.match(/^ +\S+[/\\]@tensorflow[/\\]tfjs-core$/gm);
    // npm decides which version lies where.
    expect(new Set(folders).size, printed).toBe(2);
    for (const folder of folders!) expect(folder).toContain(project.folder);
  });

  it('with a node_modules that is read only', () => {
    const project = new Project();
    project.must('npm', ['install', ...FLAGS]);
    const mount =
      'mount --bind node_modules node_modules && mount -o remount,ro,bind node_modules && exec "$@"';
    const readOnly = ['unshare', '--mount', 'sh', '-c', mount, 'sh'] as const;
    expect(project.run(readOnly[0], [...readOnly.slice(1), 'touch', 'node_modules/a']).printed).toContain(
      'Read-only',
    );
    expectTrains(project, [...readOnly, ...NPX]);
  });

  it('offline: `acc setup --from` a file', async () => {
    const project = new Project();
    project.must('npm', ['install', ...FLAGS]);
    const archive = join(project.folder, 'libtorch.zip');
    const sha256 = await zipOf(libtorch.root, archive);
    const withoutNetwork = ['--net', '--', 'npx', '--no-install', 'acc'];
    const env = { ACC_LIBTORCH: '' };
    const from = ['--offline', '--from', archive, '--sha256', sha256];
    const setup = project.must('unshare', [...withoutNetwork, 'setup', ...from], { env });
    expect(setup).toContain(project.env.ACC_CACHE_DIR);
    const printed = project.must('unshare', [...withoutNetwork, 'launch', 'train.mjs'], { env });
    expect(printed).toContain(TRAINED);
  });
});

describe('other installers', LIMIT, () => {
  it('pnpm, whose node_modules has only what a package declares', () => {
    const project = new Project({ 'pnpm-workspace.yaml': 'ignoredBuiltDependencies: [core-js, esbuild]\n' });
    const pnpm = mirror.program('pnpm');
    project.must(pnpm, ['install', '--ignore-scripts']);
    expect(existsSync(join(project.folder, 'node_modules', '@acc', 'contract'))).toBe(false);
    expectTrains(project, [pnpm, 'exec', 'acc']);
  });

  /** Yarn takes no package that was published just now. */
  const NEW = 'npmMinimalAgeGate: 0\n';
  const yarnrc = (linker: string) =>
    `nodeLinker: ${linker}\nnpmRegistryServer: '${mirror.url}'\nunsafeHttpWhitelist: ['127.0.0.1']\nenableTelemetry: false\nenableImmutableInstalls: false\nenableScripts: false\n${NEW}`;
  const yarnProject = (linker: string) => new Project({ '.yarnrc.yml': yarnrc(linker), 'yarn.lock': '' });

  it('Yarn with nodeLinker node-modules', () => {
    const project = yarnProject('node-modules');
    const yarn = mirror.program('yarn');
    project.must(yarn, ['install']);
    expectTrains(project, [yarn, 'acc']);
  });

  it("Yarn's Plug'n'Play: acc env says what to do", () => {
    const project = yarnProject('pnp');
    const yarn = mirror.program('yarn');
    project.must(yarn, ['install']);
    const { printed } = project.run(yarn, ['acc', 'env']);
    expect(printed).toMatch(/Plug'n'Play/);
    expect(printed).toMatch(/nodeLinker/);
  });

  it.each<[InstalledProgram, readonly string[]]>([
    ['bun', ['run']],
    ['deno', ['run', '-A', '--node-modules-dir=manual']],
  ])('%s trains as one process on what npm installed', (name, args) => {
    const project = new Project();
    project.must('npm', ['install', ...FLAGS]);
    expect(project.must(mirror.program(name), [...args, 'train.mjs'])).toContain(TRAINED);
  });

  it('bun installs', () => {
    const project = new Project({ 'bunfig.toml': `[install]\nregistry = "${mirror.url}"\n` });
    project.must(mirror.program('bun'), ['install', '--ignore-scripts']);
    expectTrains(project, NPX);
  });
});
