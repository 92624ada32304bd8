import {
  cpSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { npm, packWorkspace, run } from './trackers/packing.js';

const root = join(import.meta.dirname, '..', '..');
const folders = readdirSync(join(root, 'packages'));
const newFolder = (name: string) => mkdtempSync(join(tmpdir(), name));

/** Packages that a folder of `packages` brings along, itself among them. */
function withDependencies(folder: string, found = new Set<string>()): Set<string> {
  const { name, dependencies = {} } = JSON.parse(
    readFileSync(join(root, 'packages', folder, 'package.json'), 'utf8'),
  ) as { name: string; dependencies?: Record<string, string> };
  if (found.has(name)) return found;
  found.add(name);
  const ours = Object.keys(dependencies).filter((dependency) => dependency.startsWith('@acc/'));
  for (const dependency of ours) withDependencies(dependency.slice('@acc/'.length), found);
  return found;
}

const brought = withDependencies('core');

/** An empty folder in which a user has installed `@acc/core`, `@tensorflow/tfjs` and Node's types. */
const program = newFolder('acc-program-');
/** The tarball of each package, by the package's name. */
let tarballs: ReadonlyMap<string, string>;

beforeAll(async () => {
  const paths = await packWorkspace(folders, newFolder('acc-tarballs-'));
  tarballs = new Map(paths.map((path) => [nameOf(path), `file:${path}`]));
  const manifest = {
    private: true,
    type: 'module',
    dependencies: {
      '@acc/core': tarballs.get('@acc/core'),
      '@tensorflow/tfjs': '^4.22.0',
      '@types/node': '^20.0.0',
    },
    // They would come from the registry.
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
  it('brings the command acc, which launches', { timeout: 120_000 }, async () => {
    const script =
      "import { Accelerator } from '@acc/core';\nconsole.log(typeof Accelerator.create, process.env.RANK);\n";
    writeFileSync(join(program, 'train.mjs'), script);
    const npx = (...args: string[]) => run('npx', ['--no-install', 'acc', ...args], program);
    expect(await npx('--help')).toContain('launch');
    const lines = (await npx('launch', '-n', '2', 'train.mjs')).trim().split('\n');
    expect(lines.sort()).toEqual(['[0] function 0', '[1] function 1']);
    // Package managers other than npm link the commands of what was asked for only.
    const own = join(program, 'node_modules', '@acc', 'core', 'bin', 'acc.js');
    expect(await run(process.execPath, [own, '--help'], program)).toContain('launch');
  });
});

/** Has tsc check a strict program; gives what tsc printed. */
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

/** A line that fails to compile where an export of the package is `any`. */
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
  it('hold in a strict program', { timeout: 300_000 }, async () => {
    const others = [...tarballs].filter(([name]) => !brought.has(name)).map(([, tarball]) => tarball);
    await npm(['install', '--no-save', ...others], program);
    const names = [...tarballs.keys()].filter((name) => name !== 'create-acc-tracker');
    const text = `${PROGRAM}${UNTYPED}${names.map(exportsAreTyped).join('\n')}`;
    const bundler = { module: 'ESNext', moduleResolution: 'Bundler', skipLibCheck: true };
    expect(await check('bundler', text, bundler)).toBe('');
    // Without skipLibCheck, all that tsc finds is in the declarations of tfjs.
    const found = await check('node', text, { module: 'NodeNext', moduleResolution: 'NodeNext' });
    const lines = found.split('\n').filter((line) => /error TS/.test(line));
    expect(lines.filter((line) => !line.startsWith('node_modules/@tensorflow/'))).toEqual([]);
    // The same check sees a package without types.
    rmSync(join(program, 'node_modules', '@acc', 'amp', 'dist', 'index.d.ts'));
    expect(await check('bundler', text, bundler)).toContain('@acc/amp');
  });
});

it('a package without its types, or with those of a source that is gone, is not packed', async () => {
  const copy = newFolder('acc-copy-');
  const amp = join(copy, 'packages', 'amp');
  cpSync(join(root, 'packages', 'amp'), amp, { recursive: true });
  symlinkSync(join(root, 'scripts'), join(copy, 'scripts'));
  const packed = () => npm(['pack', '--dry-run'], amp);
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
