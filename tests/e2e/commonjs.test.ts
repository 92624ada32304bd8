import { execFile } from 'node:child_process';
import { mkdtempSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect, it } from 'vitest';

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
