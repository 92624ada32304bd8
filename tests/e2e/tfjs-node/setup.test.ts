import { execFileSync, spawnSync } from 'node:child_process';
import {
  copyFileSync,
  cpSync,
  existsSync,
  mkdirSync,
  readFileSync,
  readdirSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { publishedSha256 } from '../../../packages/cli/src/setup/tfjs-node/wheels.js';
import { acc, newProject, type Project } from './project.js';

let project: Project;
let tfjsNode: string;
beforeAll(async () => {
  project = await newProject();
  tfjsNode = join(project.path, 'node_modules', '@tensorflow', 'tfjs-node');
}, 400_000);
afterAll(() => project[Symbol.dispose]());

const setup = (...args: string[]) => project.acc(['setup', 'tfjs-node', ...args]);
/** The message of `acc` when it refuses. */
const refused = (args: readonly string[], env: NodeJS.ProcessEnv = {}) =>
  project.acc(['setup', 'tfjs-node', ...args], env).then(
    ({ stderr }) => `not refused: ${stderr}`,
    (error: Error & { stderr: string }) => error.stderr,
  );
const emptyCache = () => ({ ACC_CACHE_DIR: join(project.path, 'empty-cache') });

interface Report {
  readonly tfjsNode: readonly Record<string, unknown>[];
  readonly engine: Record<string, string>;
  readonly missing: readonly { what: string; mend: string }[];
}
const report = async () => JSON.parse((await project.acc(['env', '--json'])).stdout) as Report;

/** Runs the user's program with this Node.js, or another. */
function runUser(options: object = {}, node = process.execPath) {
  const { status, stdout, stderr } = spawnSync(node, ['user.mjs', JSON.stringify(options)], {
    cwd: project.path,
    encoding: 'utf8',
    env: { ...process.env, TF_CPP_MIN_LOG_LEVEL: '2' },
  });
  const line = stdout.split('\n').find((text) => text.startsWith('{'));
  return { status, stderr, result: line === undefined ? undefined : (JSON.parse(line) as object) };
}

describe('acc setup tfjs-node', () => {
  it('acc env shows a tfjs-node that cannot be loaded, and the command', async () => {
    const { tfjsNode: states, engine, missing } = await report();
    expect(states).toMatchObject([{ name: '@tensorflow/tfjs-node', version: '4.22.0' }]);
    expect(states[0]!['problem']).toContain('binding');
    expect(engine['withTfjsNode']).toBeUndefined();
    expect(missing.map(({ mend }) => mend)).toContain('npx acc setup tfjs-node');
  });

  it('links TensorFlow, keeps what was there, and verifies it by values in another process', async () => {
    for (const name of ['deps', 'lib']) {
      mkdirSync(join(tfjsNode, name));
      writeFileSync(join(tfjsNode, name, 'own.txt'), name);
    }
    const { stderr } = await setup();
    expect(stderr).toContain('TensorFlow 2.15.1 multiplies matrices and takes a training step');
    expect(existsSync(join(tfjsNode, 'deps', 'own.txt'))).toBe(false);
    const { tfjsNode: states, engine, missing } = await report();
    expect(states).toMatchObject([{ tensorflow: '2.15.1', origin: 'setup' }]);
    expect(engine['withTfjsNode']).toContain('TensorFlow 2.15.1');
    expect(missing).toEqual([]);
  });

  it('repeats no step that is done', async () => {
    const { stderr } = await setup();
    expect(stderr).toContain('was linked');
    expect(stderr).not.toMatch(/fetching|compiling/);
    const { stderr: right } = await setup('--dry-run', '--sha256', publishedSha256('cpu', '2.15.1')!);
    expect(right).toContain('in the cache');
    expect(await refused(['--sha256', 'ab'.repeat(32)])).toContain('ACC_CHECKSUM_MISMATCH');
  });

  it('completes a setup that was interrupted while it linked', async () => {
    const binding = join(tfjsNode, 'lib', 'napi-v8', 'tfjs_binding.node');
    writeFileSync(binding, 'half a file');
    await setup();
    expect(readFileSync(binding).length).toBeGreaterThan(10_000);
    expect(readdirSync(tfjsNode).filter((name) => name.startsWith('.acc-setup'))).toEqual([]);
  });

  it('a program that imports tfjs-node keeps its backend, unless it asks for another', () => {
    cpSync(join(import.meta.dirname, 'ranks', 'user.mjs'), join(project.path, 'user.mjs'));
    const values = { top: [3, 2], weights: [0, 0, 0] };
    const kept = runUser();
    expect(kept.result, kept.stderr).toEqual({ backendName: 'tensorflow', ...values });
    expect(kept.stderr).toContain('because the program imports tfjs-node');
    const asked = runUser({ engine: 'tfjs' });
    expect(asked.result).toEqual({ backendName: 'tensorflow', ...values });
    expect(asked.stderr).not.toContain('acc:');
    expect(runUser({ engine: 'acc' }).result).toEqual({ backendName: 'acc', ...values });
  });

  it('on a newer Node.js, tfjs-node computes beside @acc/core, and does not without it', () => {
    const { newerNode } = project;
    expect(execFileSync(newerNode, ['--version'], { encoding: 'utf8' })).toMatch(/^v24\./);
    const without = "require('@tensorflow/tfjs-node').topk([3, 1, 2], 2)";
    const alone = spawnSync(newerNode, ['-e', without], { cwd: project.path, encoding: 'utf8' });
    expect(alone.stderr).toContain('isNullOrUndefined');
    const { result, stderr } = runUser({}, newerNode);
    expect(result, stderr).toEqual({ backendName: 'tensorflow', top: [3, 2], weights: [0, 0, 0] });
  });

  it('--undo restores what was there, and may be repeated', async () => {
    expect((await setup('--undo')).stderr).toContain('undone');
    for (const name of ['deps', 'lib']) {
      expect(readdirSync(join(tfjsNode, name))).toEqual(['own.txt']);
      expect(readFileSync(join(tfjsNode, name, 'own.txt'), 'utf8')).toBe(name);
    }
    expect(readdirSync(tfjsNode)).not.toContain('.before-acc-setup');
    expect((await setup('--undo')).stderr).toContain('nothing to undo');
  });

  it('--gpu --dry-run asks the index for the wheel with CUDA, and says what it needs', async () => {
    const gpu = `${tfjsNode}-gpu`;
    mkdirSync(gpu);
    const manifest = JSON.parse(readFileSync(join(tfjsNode, 'package.json'), 'utf8')) as object;
    writeFileSync(
      join(gpu, 'package.json'),
      JSON.stringify({ ...manifest, name: '@tensorflow/tfjs-node-gpu' }),
    );
    for (const name of ['binding', 'binding.gyp']) symlinkSync(join(tfjsNode, name), join(gpu, name));
    const { stderr } = await setup('--gpu', '--dry-run');
    expect(stderr).toContain('tensorflow-2.15.1-');
    expect(stderr).toContain('as published');
    expect(stderr).toMatch(/CUDA 12\.2\.\d+ and cuDNN 8\.9\.[\d.]+, so NVIDIA's driver 525 or newer/);
    expect(stderr).toContain('nvidia-cudnn-cu12==');
    expect(stderr).toContain('nothing was changed');
    expect(readdirSync(gpu).sort()).toEqual(['binding', 'binding.gyp', 'package.json']);
  });
});

/** A wheel of Python's `zipfile` with the given files, a METADATA and a RECORD. */
function writeWheel(name: string, version: string, files: Record<string, string>): string {
  const path = join(project.path, `${name}-${version}-py3-none-any.whl`);
  const info = `${name}-${version}.dist-info`;
  const all = {
    ...files,
    [`${info}/METADATA`]: `Metadata-Version: 2.1\nName: ${name.replace('_', '-')}\nVersion: ${version}\n`,
    [`${info}/RECORD`]: '',
  };
  const script =
    'import json, sys, zipfile\n' +
    'with zipfile.ZipFile(sys.argv[1], "w") as z:\n' +
    '    for name, content in json.load(sys.stdin).items(): z.writestr(name, content)\n';
  execFileSync('python3', ['-c', script, path], { input: JSON.stringify(all) });
  return path;
}

describe('acc setup tfjs-node refuses', () => {
  it('a project without tfjs-node, with the command that installs it', () => {
    const { stderr } = spawnSync(process.execPath, [acc, 'setup', 'tfjs-node'], {
      cwd: '/',
      encoding: 'utf8',
    });
    expect(stderr).toContain('ACC_TFJS_NODE_MISSING');
    expect(stderr).toContain('npm install --ignore-scripts @tensorflow/tfjs-node@4.22.0');
  });

  it('a machine without Python and compiler, before it downloads anything', async () => {
    const bin = join(project.path, 'bin');
    mkdirSync(bin);
    symlinkSync(process.execPath, join(bin, 'node'));
    const text = await refused([], { ...emptyCache(), PATH: bin, CXX: '' });
    expect(text).toContain('ACC_TOOLCHAIN_MISSING');
    expect(text).toMatch(/g\+\+, make, python3/);
    expect(text).not.toContain('fetching');
  });

  it('offline, a Node.js without headers, which node-gyp would fetch', () => {
    const bin = join(project.path, 'without-headers', 'bin');
    mkdirSync(bin, { recursive: true });
    const node = join(bin, 'node');
    copyFileSync(process.execPath, node);
    const env = { ...process.env, ...emptyCache(), npm_config_devdir: join(project.path, 'no-devdir') };
    const args = [acc, 'setup', 'tfjs-node', '--offline'];
    const { stderr } = spawnSync(node, args, { cwd: project.path, env, encoding: 'utf8' });
    expect(stderr).toContain('ACC_TOOLCHAIN_MISSING');
    expect(stderr).toContain(`headers of Node.js ${process.versions.node}`);
  });

  it('a TensorFlow that pip does not find', async () => {
    const text = await refused(['--offline', '--tensorflow', '2.0.99'], emptyCache());
    expect(text).toContain('ACC_DOWNLOAD_UNREACHABLE');
    expect(text).toContain('2.15.1');
    expect(await refused(['--tensorflow', 'newest'])).toContain('ACC_BAD_OPTION');
  });

  it('a wheel that is damaged, of another version, without the libraries, or with another checksum', async () => {
    const from = (path: string, ...args: string[]) => refused(['--from', path, ...args], emptyCache());
    const broken = join(project.path, 'broken.whl');
    writeFileSync(broken, 'no zip');
    expect(await from(broken)).toContain('ACC_TENSORFLOW_INVALID');
    expect(await from(join(project.path, 'absent.whl'))).toContain('does not exist');
    const other = writeWheel('tensorflow_cpu', '2.14.0', {});
    expect(await from(other)).toMatch(/ACC_TENSORFLOW_INVALID.*tensorflow-cpu 2\.14\.0/);
    const hollow = writeWheel('tensorflow_cpu', '2.15.1', { 'tensorflow/include/x.h': '' });
    expect(await from(hollow)).toContain('does not contain tensorflow/libtensorflow_cc.so.2');
    expect(await from(hollow, '--sha256', 'ab'.repeat(32))).toContain('ACC_CHECKSUM_MISMATCH');
    const changed = writeWheel('tensorflow_cpu', '2.15.1', {
      'tensorflow/libtensorflow_cc.so.2': 'changed',
      'tensorflow/libtensorflow_framework.so.2': 'changed',
    });
    expect(await from(changed)).toContain('ACC_CHECKSUM_MISMATCH');
    expect(existsSync(join(project.path, 'empty-cache', 'tensorflow', '2.15.1-cpu'))).toBe(false);
  });

  it('--undo together with options of the setup', async () => {
    expect(await refused(['--undo', '--offline'])).toContain('ACC_SETUP_CONFLICT');
  });

  it('options before tfjs-node, which are not its own', async () => {
    const text = await project
      .acc(['setup', '--offline', 'tfjs-node'])
      .catch((error: Error) => error.message);
    expect(text).toContain('ACC_BAD_OPTION');
  });
});
