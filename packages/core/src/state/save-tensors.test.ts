import * as tf from '@tensorflow/tfjs';
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { Accelerator } from '../accelerator.js';

it('save refuses two tensors that have the same path', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'acc-save-'));
  const accelerator = await Accelerator.create({ engine: 'acc' });
  const [x, y] = [tf.scalar(1), tf.scalar(2)] as const;
  const before = tf.memory().numTensors;
  await expect(accelerator.save({ 'a.b': x, a: { b: y } }, folder)).rejects.toMatchObject({
    code: 'ACC_INVALID_ARGUMENT',
    details: { path: 'a.b' },
  });
  expect(await readdir(folder)).toEqual([]);
  expect(tf.memory().numTensors).toBe(before);
  tf.dispose([x, y]);
  accelerator.freeMemory();
  await rm(folder, { recursive: true });
});
