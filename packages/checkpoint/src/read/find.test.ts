import * as tf from '@tensorflow/tfjs';
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { AccError, type Storage } from '@acc/contract';
import type { Checkpoints } from '../checkpoints.js';
import { fileStorage } from '../storage/file-storage.js';
import { checkpointsOfOneRank, error, load, request, warnings } from '../testing/saves.js';
import { freeName } from './find.js';

let folder: string;
let place: string;
beforeEach(async () => {
  await tf.setBackend('cpu');
  folder = await mkdtemp(join(tmpdir(), 'acc-find-'));
  place = join(folder, 'step-00000002');
});
afterEach(() => rm(folder, { recursive: true }));

/** Make a checkpoint unreadable. The key is the code of the error that reading it causes. */
const damages: Record<string, () => Promise<void>> = {
  async ACC_CHECKPOINT_VERSION() {
    const path = join(place, 'checkpoint.json');
    const marker = JSON.parse(await readFile(path, 'utf8')) as object;
    await writeFile(path, JSON.stringify({ ...marker, version: 99 }));
  },
  ACC_CHECKPOINT_INVALID: () => writeFile(join(place, 'checkpoint.json'), '{"format"'),
  async ACC_CHECKPOINT_CORRUPT() {
    const index = (await readdir(place)).find((name) => name.startsWith('index'))!;
    await rm(join(place, index));
  },
};

const save = (checkpoints: Checkpoints, step: number) =>
  checkpoints.save(undefined, request({ x: tf.scalar(step) }, step), false);
const content = async () =>
  Promise.all((await readdir(place)).sort().map((name) => readFile(join(place, name), 'latin1')));

describe.each(Object.keys(damages))('a checkpoint with %s', (code) => {
  let checkpoints: Checkpoints;
  /** Leaves step 1 as it was saved and makes step 2 unreadable. */
  beforeEach(async () => {
    checkpoints = checkpointsOfOneRank({ dir: folder, keepLast: 2 });
    for (const step of [1, 2]) await save(checkpoints, step);
    await damages[code]!();
  });

  it('is never deleted', async () => {
    const before = await content();
    for (const step of [3, 4]) await save(checkpoints, step);
    expect((await readdir(folder)).sort()).toEqual(['step-00000002', 'step-00000003', 'step-00000004']);
    expect(await content()).toEqual(before);
  });

  it('is not replaced by a save of the same step, which gets another name and follows retention', async () => {
    const before = await content();
    for (let i = 0; i < 2; i++) expect(await save(checkpoints, 2)).toBe(`${place}.2`);
    expect(await content()).toEqual(before);
    expect(((await load(`${place}.2`)).tree as { x: tf.Tensor }).x.dataSync()[0]).toBe(2);
    expect(await checkpoints.newest(new Set())).toBe('step-00000002.2');
    for (const step of [3, 4]) await save(checkpoints, step);
    expect((await readdir(folder)).sort()).toEqual(['step-00000002', 'step-00000003', 'step-00000004']);
  });

  it('is skipped with one warning', async () => {
    const said = warnings();
    expect(await checkpoints.newest(new Set())).toBe('step-00000001');
    expect(await checkpoints.newest(new Set(['step-00000001']))).toBeUndefined();
    expect(said).toEqual([expect.stringMatching(`${code}.*step-00000002`)]);
  });

  it('is an error if there is no other checkpoint', async () => {
    await rm(join(folder, 'step-00000001'), { recursive: true });
    await expect(checkpoints.newest(new Set())).rejects.toThrowError(error(code));
  });
});

describe('a save to a storage that could not be listed', () => {
  /** A storage whose first `list` fails. */
  function failingOnce(): Storage {
    const files = fileStorage(folder);
    let isFirst = true;
    return {
      ...files,
      location: folder,
      async list(prefix) {
        if (!isFirst) return files.list(prefix);
        isFirst = false;
        throw new AccError('ACC_STORAGE_FAILED', 'no answer.');
      },
    };
  }

  it.each(Object.keys(damages))('replaces nothing and warns: %s', async (code) => {
    const said = warnings();
    await save(checkpointsOfOneRank({ dir: folder }), 2);
    await damages[code]!();
    const before = await content();
    const checkpoints = checkpointsOfOneRank({ storage: failingOnce() });
    const saved = await save(checkpoints, 2);
    expect(await content()).toEqual(before);
    expect(said).toEqual([
      expect.stringMatching(/could not be listed before a save: no answer\. .*step-00000002\.\d+/),
    ]);
    const name = (await checkpoints.newest(new Set()))!;
    expect(name).toMatch(/^step-00000002\.\d+$/);
    expect(saved).toContain(name);
    expect(((await load(join(folder, name))).tree as { x: tf.Tensor }).x.dataSync()[0]).toBe(2);
  });
});

it('a name is free if it belongs to nothing, an incomplete or a complete checkpoint', async () => {
  const checkpoints = checkpointsOfOneRank({ dir: folder });
  const name = () => freeName(fileStorage(folder), 2);
  expect(await name()).toBe('step-00000002');
  await save(checkpoints, 2);
  expect(await name()).toBe('step-00000002');
  await rm(join(place, 'checkpoint.json'));
  expect(await name()).toBe('step-00000002');
});
