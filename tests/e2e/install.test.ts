import { spawnSync } from 'node:child_process';
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  realpathSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { isBuiltin } from 'node:module';
import { tmpdir } from 'node:os';
import { basename, delimiter, join } from 'node:path';
import { build } from 'esbuild';
import { beforeAll, describe, expect, it } from 'vitest';
import { requireLibtorch } from '@acc/native';
import { HOSTS } from '../../scripts/release/hosts.mjs';
import { packedManifestOf, publishedFolders as folders } from '../../scripts/release/published.mjs';
import { npm, pack, packWorkspace, run, stageWorkspace } from './trackers/packing.js';

const root = join(import.meta.dirname, '..', '..');
const newFolder = (name: string) => mkdtempSync(join(tmpdir(), name));

/** A published package and the packages that it depends on. */
function withDependencies(folder: string, found = new Set<string>()): Set<string> {
  const { name, dependencies = {} } = packedManifestOf(folder);
  if (found.has(name)) return found;
  found.add(name);
  const ours = Object.keys(dependencies).filter((dependency) => dependency.startsWith('@acc/'));
  for (const dependency of ours) withDependencies(dependency.slice('@acc/'.length), found);
  return found;
}

const brought = withDependencies('core').add(`@acc/native-${process.platform}-${process.arch}`);

/** A folder in which a user has installed `@acc/core`, `@tensorflow/tfjs` and Node's types. */
const program = newFolder('acc-program-');
/** The tarball of each package, by the name of the package. */
let tarballs: ReadonlyMap<string, string>;

/** `2.13`, the release line of this checkout's libtorch. */
const libtorch = requireLibtorch();
const line = libtorch.version.split('.').slice(0, 2).join('.');

/**
 * `@acc/native` and its platform package as they are published. The addon is the one that setup
 * built.
 */
async function packNative(target: string): Promise<string[]> {
  const out = newFolder('acc-native-packages-');
  const scripts = join(root, 'scripts', 'native-packages');
  const node = (script: string, args: string[], cwd: string) =>
    run(process.execPath, [join(scripts, script), ...args], cwd);
  await node('build.mjs', ['--torch', line, '--out', out], root);
  const native = join(await stageWorkspace(['native']), 'native');
  await node('add-to-manifest.mjs', ['--from', out], native);
  return pack([native, ...readdirSync(out).map((name) => join(out, name))], target);
}

beforeAll(async () => {
  const target = newFolder('acc-tarballs-');
  const others = folders.filter((folder) => folder !== 'native');
  const paths = [...(await packWorkspace(others, target)), ...(await packNative(target))];
  tarballs = new Map(paths.map((path) => [nameOf(path), `file:${path}`]));
  const manifest = {
    private: true,
    type: 'module',
    dependencies: {
      '@acc/core': tarballs.get('@acc/core'),
      '@tensorflow/tfjs': '^4.22.0',
      '@types/node': '^20.0.0',
    },
    // Otherwise npm would fetch them from the registry.
    overrides: Object.fromEntries(
      [...tarballs].filter(([name]) => name !== '@acc/core' && brought.has(name)),
    ),
  };
  writeFileSync(join(program, 'package.json'), JSON.stringify(manifest));
  await npm(['install'], program);
}, 600_000);

/** `…/acc-core-0.1.0.tgz` → `@acc/core`. */
function nameOf(tarball: string): string {
  const stem = basename(tarball).replace(/-\d+\.\d+\.\d+.*$/, '');
  return stem.startsWith('acc-tracker-') && folders.includes(stem) ? stem : stem.replace(/^acc-/, '@acc/');
}

describe('`npm install @acc/core`', () => {
  it('installs published packages only, each private one once, within its host', () => {
    const installed = readdirSync(join(program, 'node_modules', '@acc')).map((name) => `@acc/${name}`);
    expect(installed.sort()).toEqual([...brought].sort());
    const inside = readdirSync(join(program, 'node_modules'), { recursive: true, encoding: 'utf8' })
      .filter((path) => /(^|\/)@acc\/[\w-]+\/internal\/[\w-]+$/.test(path))
      .map((path) => path.split('/internal/'));
    const hosts = Object.entries(HOSTS).map(([name, host]) => [name, `@acc/${host}`]);
    expect(Object.fromEntries(inside.map(([host, name]) => [name, host]))).toEqual(Object.fromEntries(hosts));
    expect(inside).toHaveLength(hosts.length);
  });

  it('takes the space that the page on installing states', () => {
    const page = readFileSync(join(root, 'site', 'docs', 'install.md'), 'utf8');
    const stated = /about\s+([\d.]+)\s+MB\s+to\s+download\s+and\s+([\d.]+)\s+MB\s+on\s+the\s+disk/.exec(page);
    const [packed, unpacked] = stated!.slice(1).map(Number) as [number, number];
    const sum = (paths: readonly string[]) => paths.reduce((bytes, path) => bytes + statSync(path).size, 0);
    const ours = [...brought].map((name) => tarballs.get(name)!.slice('file:'.length));
    const folder = join(program, 'node_modules', '@acc');
    const files = readdirSync(folder, { recursive: true, encoding: 'utf8' }).map((path) =>
      join(folder, path),
    );
    // The addon is compiled here, so sizes differ a little.
    expect(Math.abs(sum(ours) / 1e6 / packed - 1)).toBeLessThan(0.1);
    const installed = sum(files.filter((path) => statSync(path).isFile()));
    expect(Math.abs(installed / 1e6 / unpacked - 1)).toBeLessThan(0.1);
  });

  it('provides the command acc, which launches programs', async () => {
    const script =
      "import { Accelerator } from '@acc/core';\nconsole.log(typeof Accelerator.create, process.env.RANK);\n";
    writeFileSync(join(program, 'train.mjs'), script);
    const npx = (...args: string[]) => run('npx', ['--no-install', 'acc', ...args], program);
    expect(await npx('--help')).toContain('launch');
    const lines = (await npx('launch', '-n', '2', 'train.mjs')).trim().split('\n');
    expect(lines.sort()).toEqual(['[0] function 0', '[1] function 1']);
    // Package managers other than npm link only the commands of the requested package.
    const own = join(program, 'node_modules', '@acc', 'core', 'bin', 'acc.js');
    expect(await run(process.execPath, [own, '--help'], program)).toContain('launch');
  });
});

/** A page with the Accelerator, bundled from the packages that are found in a folder. */
async function bundledPage(resolveDir: string) {
  const { metafile, outputFiles } = await build({
    stdin: { contents: "export { Accelerator } from '@acc/core';", resolveDir },
    bundle: true,
    minify: true,
    format: 'esm',
    write: false,
    metafile: true,
    logLevel: 'silent',
    external: ['@tensorflow/*', 'aws4fetch', 'fast-xml-parser'],
  });
  const imported = Object.values(metafile.inputs).flatMap(({ imports }) => imports.map(({ path }) => path));
  return { bytes: outputFiles[0]!.contents.length, imported };
}

it('esbuild bundles the installed packages for a page as those of the repository', async () => {
  const [installed, repository] = [await bundledPage(program), await bundledPage(root)];
  expect(installed.imported.filter((path) => isBuiltin(path) || path.endsWith('.node'))).toEqual([]);
  expect(installed.bytes).toBeLessThanOrEqual(repository.bytes * 1.001);
  expect(installed.bytes).toBeGreaterThanOrEqual(repository.bytes * 0.999);
});

/** The `PATH` of a machine that has Node, but no compiler, make or Python. */
function bareMachine(): NodeJS.ProcessEnv {
  const bin = newFolder('acc-bin-');
  const which = (name: string) =>
    process.env['PATH']!.split(delimiter)
      .map((folder) => join(folder, name))
      .find(existsSync)!;
  for (const name of ['npm', 'npx', 'sh']) symlinkSync(realpathSync(which(name)), join(bin, name));
  symlinkSync(process.execPath, join(bin, 'node'));
  return { ...process.env, PATH: bin, ACC_CACHE_DIR: newFolder('acc-cache-'), ACC_LIBTORCH: libtorch.root };
}

/** Runs a command to its end. Returns its exit code and its output, also if it fails. */
function ended(command: string, args: readonly string[], env: NodeJS.ProcessEnv) {
  const { status, stdout, stderr } = spawnSync(command, args, { cwd: program, env, encoding: 'utf8' });
  return { status, printed: `${stdout}${stderr}` };
}

/** The first example of README.md, as it is written there. */
const [, example] = /^```ts\n(.*?)^```/ms.exec(readFileSync(join(root, 'README.md'), 'utf8'))!;

const TRAINING = `
${example}
console.log(JSON.stringify({ backend: tf.getBackend(), sum: model.getWeights()[0]!.abs().sum().dataSync()[0] }));
`;

/**
 * The highest version of each system library that an addon's symbols need: `{ GLIBC: [2, 28], … }`.
 */
async function askedVersions(addon: string): Promise<Record<string, number[]>> {
  const printed = await run('readelf', ['--version-info', '--wide', addon], program);
  const asked: Record<string, number[]> = {};
  for (const [, library, version] of printed.matchAll(/\b(GLIBC|GLIBCXX|CXXABI)_(\d[\d.]*)/g)) {
    const parts = version!.split('.').map(Number);
    const highest = asked[library!];
    if (!highest || compare(parts, highest) > 0) asked[library!] = parts;
  }
  return asked;
}

const compare = (a: readonly number[], b: readonly number[]) =>
  a.map((part, i) => part - (b[i] ?? 0)).find((difference) => difference !== 0) ?? 0;

it('the prebuilt addon runs on every system that libtorch supports: glibc 2.28, libstdc++ of GCC 8', async () => {
  const folder = join(program, 'node_modules', '@acc', `native-${process.platform}-${process.arch}`);
  for (const file of ['acc_native.node', 'acc_loader.node']) {
    const asked = await askedVersions(join(folder, `torch-${line}`, file));
    expect(Object.keys(asked).sort(), file).toEqual(['CXXABI', 'GLIBC', 'GLIBCXX']);
    expect(compare(asked['GLIBC']!, [2, 28]), file).toBeLessThanOrEqual(0);
    expect(compare(asked['GLIBCXX']!, [3, 4, 24]), file).toBeLessThanOrEqual(0);
    expect(compare(asked['CXXABI']!, [1, 3, 11]), file).toBeLessThanOrEqual(0);
  }
});

describe('without compiler, make, node-gyp and Python', () => {
  const env = bareMachine();
  const load =
    'import("@acc/native").then((n) => n.loadAddon()).catch((e) => console.log(e.code, e.help, e.details.prebuilt))';

  it('setup uses the prebuilt addon, and two ranks train', () => {
    const setup = ended('npx', ['--no-install', 'acc', 'setup'], env);
    expect(setup).toMatchObject({ status: 0 });
    expect(setup.printed).toMatch(/addon, package, .*@acc\/native-[\w-]+\/torch-/);
    expect(readdirSync(env['ACC_CACHE_DIR']!)).toEqual([]);
    writeFileSync(join(program, 'train.ts'), TRAINING);
    const { printed } = ended('npx', ['--no-install', 'acc', 'launch', '-n', '2', 'train.ts'], env);
    const told = Array.from(printed.matchAll(/^\[(\d)\] (\{.*\})$/gm), ([, rank, json]) => ({
      rank,
      ...(JSON.parse(json!) as { backend: string; sum: number }),
    })).sort((a, b) => Number(a.rank) - Number(b.rank));
    expect(told, printed).toMatchObject([
      { rank: '0', backend: 'acc' },
      { rank: '1', backend: 'acc' },
    ]);
    expect(told[0]!.sum).toBeGreaterThan(0);
    expect(told[1]!.sum).toBe(told[0]!.sum);
  });

  it('a libtorch without a prebuilt addon, and --build, are errors with the next step', () => {
    const other = newFolder('acc-libtorch-');
    for (const name of ['lib', 'include']) symlinkSync(join(libtorch.root, name), join(other, name));
    writeFileSync(
      join(other, 'version.py'),
      `__version__ = '${line === '2.12' ? '2.13.0' : '2.12.0'}+cpu'\n`,
    );
    const otherEnv = { ...env, ACC_LIBTORCH: other };
    const { status, printed } = ended('npx', ['--no-install', 'acc', 'setup'], otherEnv);
    expect(status, printed).toBe(2);
    expect(printed).toContain(`prebuilt addons exist for torch ${line};`);
    expect(printed).toContain('ACC_TOOLCHAIN_MISSING');
    expect(ended('node', ['-e', load], otherEnv).printed).toBe(
      `ACC_ADDON_MISSING npx acc setup [ '${line}' ]\n`,
    );
    const build = ended('npx', ['--no-install', 'acc', 'setup', '--build'], env);
    expect(build.printed).toContain('ACC_TOOLCHAIN_MISSING');
  });

  it('a damaged prebuilt addon is an error with the next step', () => {
    const [folder] = readdirSync(join(program, 'node_modules', '@acc')).filter((name) =>
      /^native-/.test(name),
    );
    const addon = join(program, 'node_modules', '@acc', folder!, `torch-${line}`, 'acc_native.node');
    const whole = readFileSync(addon);
    writeFileSync(addon, 'cut off');
    expect(ended('node', ['-e', load], env).printed).toMatch(/^ACC_ADDON_LOAD_FAILED .*acc setup --build/);
    writeFileSync(addon, whole);
  });
});

/** Checks a strict program with tsc, and returns tsc's output. */
async function check(
  name: string,
  text: string,
  options: Readonly<Record<string, unknown>>,
): Promise<string> {
  writeFileSync(join(program, `${name}.mts`), text);
  const compilerOptions = { strict: true, target: 'ES2022', types: ['node'], noEmit: true, ...options };
  writeFileSync(join(program, `${name}.json`), JSON.stringify({ compilerOptions, files: [`${name}.mts`] }));
  const tsc = join(root, 'node_modules', 'typescript', 'lib', 'tsc.js');
  return run(process.execPath, [tsc, '-p', `${name}.json`], program).catch(({ message }: Error) => message);
}

/** A line that does not compile if the export of the package is `any`. */
const exportsAreTyped = (name: string, i: number) => `
import * as package${i} from '${name}';
({}) as Untyped<typeof package${i}> satisfies Record<string, never>;`;

const UNTYPED = `
type IsAny<T> = 0 extends 1 & T ? true : false;
type Untyped<M> = IsAny<M> extends true ? { module: 'any' } : { [K in keyof M as IsAny<M[K]> extends true ? K : never]: M[K] };
`;

const PROGRAM = `
import * as tf from '@tensorflow/tfjs';
import { Accelerator } from '@acc/core';

const accelerator = await Accelerator.create({ mixedPrecision: 'bf16' });
const batches = [tf.ones([2, 1]), tf.zeros([2, 1])];
const [model, optimizer, data] = accelerator.prepare(tf.sequential(), tf.train.adam(1e-3), batches);
const kept: [tf.Sequential, tf.AdamOptimizer] = [model, optimizer];
for await (const xs of data) optimizer.minimize(() => tf.mean(model.apply(xs) as tf.Tensor) as tf.Scalar);
// @ts-expect-error: an option that there isn't
await Accelerator.create({ mixedPrecison: 'bf16' });
// @ts-expect-error: no number has a name
const text: string = accelerator.processIndex;
console.log(kept, text);
`;

describe('the types of the packed packages', () => {
  it('are valid in a strict program', async () => {
    const others = [...tarballs].filter(([name]) => !brought.has(name)).map(([, tarball]) => tarball);
    await npm(['install', '--no-save', ...others], program);
    // A command and an addon, which programs do not import.
    const names = [...tarballs.keys()].filter((name) => !/^(create-acc-tracker|@acc\/native-.*)$/.test(name));
    const text = `${PROGRAM}${UNTYPED}${names.map(exportsAreTyped).join('\n')}`;
    const bundler = { module: 'ESNext', moduleResolution: 'Bundler', skipLibCheck: true };
    expect(await check('bundler', text, bundler)).toBe('');
    // Without skipLibCheck, tsc finds errors only in the declarations of tfjs.
    const found = await check('node', text, { module: 'NodeNext', moduleResolution: 'NodeNext' });
    const lines = found.split('\n').filter((line) => /error TS/.test(line));
    expect(lines.filter((line) => !line.startsWith('node_modules/@tensorflow/'))).toEqual([]);
    // The same check detects a package without types.
    rmSync(join(program, 'node_modules', '@acc', 'amp', 'dist', 'index.d.ts'));
    expect(await check('bundler', text, bundler)).toContain('@acc/amp');
  });
});

it('a package without its types, or with types of a removed source, is not packed', async () => {
  const copy = newFolder('acc-copy-');
  const amp = join(copy, 'amp');
  cpSync(join(root, 'packages', 'amp'), amp, { recursive: true });
  const stage = join(root, 'scripts', 'release', 'stage.mjs');
  const packed = () =>
    run(process.execPath, [stage, '--from', copy, '--out', join(copy, 'out'), 'amp'], root);
  await packed();
  mkdirSync(join(amp, 'dist', 'old'));
  writeFileSync(join(amp, 'dist', 'old', 'gone.d.ts'), '');
  await expect(packed()).rejects.toThrow('its source is gone: dist/old/gone.d.ts');
  rmSync(join(amp, 'dist', 'old'), { recursive: true });
  for (const file of ['dist/autocast.d.ts', 'dist/index.js']) {
    rmSync(join(amp, file));
    await expect(packed()).rejects.toThrow(`missing: ${file}`);
  }
});

it('npm packs neither a private package nor the folder of a published one, and says what it packs', async () => {
  const packed = (folder: string) => npm(['pack', '--dry-run'], join(root, 'packages', folder));
  await expect(packed('tape')).rejects.toThrow('packages/tape is private: the tarball of @acc/kernels');
  await expect(packed('kernels')).rejects.toThrow('npm run stage && npm pack ./.packed/kernels');
});
