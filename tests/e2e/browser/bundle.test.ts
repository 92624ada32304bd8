import { execFile } from 'node:child_process';
import { mkdirSync, mkdtempSync, symlinkSync } from 'node:fs';
import { builtinModules } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { gzipSync } from 'node:zlib';
import { build, type Metafile } from 'esbuild';
import { beforeAll, expect, it } from 'vitest';
import { build as buildWithVite } from 'vite';

/** The most bytes that a page downloads of `@acc/core`, compressed. tfjs comes on top. */
const MOST_GZIP_BYTES = 170_000;

const PROGRAM = `
  import { Accelerator } from '@acc/core';
  globalThis.start = (options) => Accelerator.create(options);
`;
/** Packages that a program installs only if it saves to S3. */
const OPTIONAL = ['aws4fetch', 'fast-xml-parser'];

let metafile: Metafile;
let bytes: number;
beforeAll(async () => {
  const result = await build({
    stdin: { contents: PROGRAM, resolveDir: import.meta.dirname },
    bundle: true,
    minify: true,
    format: 'esm',
    write: false,
    metafile: true,
    logLevel: 'silent',
    external: ['@tensorflow/*', ...OPTIONAL],
  });
  metafile = result.metafile;
  bytes = gzipSync(result.outputFiles[0]!.contents, { level: 9 }).length;
});

it('esbuild bundles @acc/core for a page in less than 170 KB, compressed', () => {
  console.log(`@acc/core in a page, bundled by esbuild: ${bytes} bytes of gzip, without tfjs`);
  expect(bytes).toBeLessThan(MOST_GZIP_BYTES);
  expect(bytes).toBeGreaterThan(50_000);
});

it('nothing that a page loads imports a module of Node.js or the addon', () => {
  const imports = Object.entries(metafile.inputs).flatMap(([path, input]) =>
    input.imports.map((one) => ({ from: path, to: one.path })),
  );
  const ofNode = new Set([...builtinModules, ...builtinModules.map((name) => `node:${name}`)]);
  expect(imports.length).toBeGreaterThan(100);
  expect(imports.filter(({ to }) => ofNode.has(to) || to.endsWith('.node'))).toEqual([]);
});

it('Vite bundles it with its defaults', async () => {
  const root = join(import.meta.dirname, 'page');
  const warnings: string[] = [];
  const built = await buildWithVite({
    root,
    logLevel: 'silent',
    build: { write: false, rollupOptions: { onwarn: (warning) => void warnings.push(warning.message) } },
  });
  const output = 'output' in built ? built.output : [];
  expect(output.some(({ fileName }) => fileName.endsWith('.js'))).toBe(true);
  expect(warnings.filter((text) => /externalized for browser|node:/.test(text))).toEqual([]);
});

it('esbuild bundles a program for Node.js, which runs with the tfjs in the bundle', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'acc-bundle-'));
  const outfile = join(folder, 'program.mjs');
  const contents = `
    import * as tf from '@tensorflow/tfjs';
    import { Accelerator } from '@acc/core';
    const accelerator = await Accelerator.create();
    const w = tf.variable(tf.scalar(2));
    const [, optimizer] = accelerator.prepare([w], tf.train.sgd(0.25));
    optimizer.minimize(() => w.square());
    console.log(tf.getBackend(), w.dataSync()[0], tf.range(0, 3).dataSync().join());`;
  await build({
    stdin: { contents, resolveDir: import.meta.dirname },
    bundle: true,
    platform: 'node',
    format: 'esm',
    outfile,
    logLevel: 'silent',
    external: ['@acc/native', ...OPTIONAL],
    // tfjs requires modules of Node.js.
    banner: {
      js: "import { createRequire as forTfjs } from 'node:module'; const require = forTfjs(import.meta.url);",
    },
  });
  // Beside the bundle is nothing but the addon.
  const scope = join(folder, 'node_modules', '@acc');
  mkdirSync(scope, { recursive: true });
  symlinkSync(join(import.meta.dirname, '../../../packages/native'), join(scope, 'native'));
  const others = Object.entries(process.env).filter(([name]) => !/^(ACC_TEST_|NODE_OPTIONS)/.test(name));
  const { stdout, stderr } = await promisify(execFile)(process.execPath, [outfile], {
    env: Object.fromEntries(others),
  });
  expect(stdout.trim()).toBe('acc 1 0,1,2');
  expect(stderr).not.toContain('already registered');
});
