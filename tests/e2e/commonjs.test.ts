import { execFile } from 'node:child_process';
import { mkdtempSync, readFileSync, readdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect, it } from 'vitest';
import * as zod from 'zod';

it('a CommonJS program requires the built package, and shares tfjs with it', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'acc-cjs-'));
  symlinkSync(fileURLToPath(new URL('../../node_modules', import.meta.url)), join(folder, 'node_modules'));
  const script = join(folder, 'train.cjs');
  writeFileSync(
    script,
    `const tf = require('@tensorflow/tfjs');
     const { Accelerator } = require('@acc/core');
     Accelerator.create().then((accelerator) => {
       const w = tf.variable(tf.scalar(2));
       const [, optimizer] = accelerator.prepare([w], tf.train.sgd(0.25));
       optimizer.minimize(() => w.square());
       console.log(tf.getBackend(), w.dataSync()[0]);
     });`,
  );
  const { stdout } = await promisify(execFile)(process.execPath, [script]);
  expect(stdout.trim()).toBe('acc 1');
});

it('built packages have every export of tfjs-core without a search for its names, and of zod', async () => {
  const core = createRequire(import.meta.url)('@tensorflow/tfjs-core') as Record<string, unknown>;
  const script = `
    import * as core from '@acc/contract/tfjs-core';
    import * as z from '@acc/contract/zod';
    import { createRequire } from 'node:module';
    const expected = createRequire(import.meta.url)('@tensorflow/tfjs-core');
    const same = Object.keys(core).filter((name) => core[name] === expected[name]);
    console.log(same.join());
    console.log(Object.keys(z).join());
    console.log(z.safeParse(z.int(), 'text').error.message);`;
  const inCore = fileURLToPath(new URL('../../packages/core', import.meta.url));
  const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module', '--eval', script], {
    cwd: inCore,
  });
  const [ofCore, ofZod, ...message] = stdout.trim().split('\n');
  expect(ofCore!.split(',').toSorted()).toEqual(Object.keys(core).toSorted());
  const { default: _, ...names } = zod;
  expect(ofZod!.split(',').toSorted()).toEqual(Object.keys(names).toSorted());
  expect(message.join('\n')).toBe(zod.safeParse(zod.int(), 'text').error!.message);
});

it('built packages import tfjs-core, its backend cpu and zod only by modules of their own', () => {
  const packages = fileURLToPath(new URL('../../packages', import.meta.url));
  const built = readdirSync(packages).flatMap((name) => builtFilesOf(join(packages, name, 'dist')));
  const direct = built.filter((path) =>
    /\b(from|import)\s*\(?\s*["'](@tensorflow\/tfjs-(core|backend-cpu)|zod)["']/.test(
      readFileSync(path, 'utf8'),
    ),
  );
  expect(built.length).toBeGreaterThan(100);
  // Bundlers get these.
  const ways = ['contract/dist/tfjs-core.js', 'contract/dist/zod.js', 'kernels/dist/tfjs-backend-cpu.js'];
  expect(direct.toSorted()).toEqual(ways.map((path) => join(packages, path)));
});

const builtFilesOf = (dist: string): string[] =>
  readdirSync(dist, { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.js'))
    .map((name) => join(dist, name));
