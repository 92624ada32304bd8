import * as tf from '@tensorflow/tfjs';
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { AccError, type Storage } from '@acc/contract';
import { fileStorage } from '../storage/file-storage.js';
import { checkpointsOfOneRank, load, request, warnings } from '../testing/saves.js';

let folder: string;
beforeEach(async () => {
  await tf.setBackend('cpu');
  folder = await mkdtemp(join(tmpdir(), 'acc-commit-'));
});
afterEach(() => rm(folder, { recursive: true }));

const KINDS = [
  ['an error of a storage', () => new AccError('ACC_STORAGE_FAILED', 'SlowDown')],
  ['another error', () => new Error('EBUSY')],
] as const;
const noAnswer = () => new AccError('ACC_STORAGE_FAILED', 'no answer');
const isMarker = (key: string) => key.endsWith('checkpoint.json');

/** Saves 1 to `c`, then saves 2 through a storage that `change` modifies. */
async function saveTwice(change: (files: Storage) => Partial<Storage>): Promise<unknown> {
  const files = fileStorage(folder);
  await checkpointsOfOneRank({ storage: files }).save('c', request({ x: tf.scalar(1) }, 1), false);
  const changed = checkpointsOfOneRank({ storage: { ...files, ...change(files) } });
  return changed.save('c', request({ x: tf.scalar(2) }, 2), false).catch((thrown: AccError) => thrown);
}

const loaded = async () => ((await load(join(folder, 'c'))).tree as { x: tf.Tensor }).x.dataSync()[0];
const files = async () => (await readdir(join(folder, 'c'))).length;

it.each(KINDS)('a save warns if it cannot delete the files of the previous save (%s)', async (_, make) => {
  const said = warnings();
  expect(await saveTwice(() => ({ delete: () => Promise.reject(make()) }))).toBe(join(folder, 'c'));
  expect(await loaded()).toBe(2);
  expect(said).toEqual([expect.stringContaining(make().message)]);
  expect(await files()).toBe(5);
  await checkpointsOfOneRank({ storage: fileStorage(folder) }).save('c', request({ x: tf.scalar(3) }), false);
  expect(await files()).toBe(3);
});

it.each(KINDS)('a save warns if old checkpoints cannot be deleted after it (%s)', async (_, make) => {
  const said = warnings();
  const storage = { ...fileStorage(folder), delete: () => Promise.reject(make()) };
  const checkpoints = checkpointsOfOneRank({ storage, keepLast: 1 });
  for (const step of [1, 2]) await checkpoints.save(undefined, request({}, step), false);
  expect(await checkpoints.newest(new Set())).toBe('step-00000002');
  expect(said).toEqual([expect.stringContaining(make().message)]);
});

it.each([
  ['once', 1],
  ['each time', Infinity],
])('a checkpoint is kept if its marker was stored but the put failed %s', async (_, times) => {
  let left = times;
  const outcome = await saveTwice((storage) => ({
    async put(key, content) {
      await storage.put(key, content);
      if (isMarker(key) && left-- > 0) throw new AccError('ACC_STORAGE_FAILED', 'EIO: fsync');
    },
  }));
  if (times === 1) expect(outcome).toBe(join(folder, 'c'));
  else expect(outcome).toMatchObject({ code: 'ACC_CHECKPOINT_SAVE_FAILED' });
  expect(await loaded()).toBe(2);
});

it('a marker that cannot be stored leaves only the previous checkpoint', async () => {
  const outcome = await saveTwice((storage) => ({
    async put(key, content) {
      if (isMarker(key)) throw new AccError('ACC_STORAGE_FULL', 'ENOSPC');
      await storage.put(key, content);
    },
  }));
  expect(outcome).toMatchObject({ code: 'ACC_CHECKPOINT_SAVE_FAILED' });
  expect(await loaded()).toBe(1);
  expect(await files()).toBe(3);
});

it('a checkpoint is kept if it is unknown whether its marker was stored', async () => {
  let isDown = false;
  const outcome = await saveTwice((storage) => ({
    async put(key, content) {
      await storage.put(key, content);
      isDown = isMarker(key);
      if (isDown) throw noAnswer();
    },
    get: (key, options) => (isDown ? Promise.reject(noAnswer()) : storage.get(key, options)),
  }));
  expect(outcome).toMatchObject({ code: 'ACC_CHECKPOINT_SAVE_FAILED' });
  expect(await loaded()).toBe(2);
});
