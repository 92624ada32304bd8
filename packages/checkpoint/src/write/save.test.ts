import * as tf from '@tensorflow/tfjs';
import { mkdir, mkdtemp, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { AccError } from '@acc/contract';
import { registerAccBackend } from '@acc/kernels';
import { liveTensors } from '@acc/native';
import { expectNoLeak } from '@acc/testkit';
import { resolveCheckpointOptions, type CheckpointOptions } from '../options.js';
import { openCheckpoint } from '../read/open.js';
import { locationOf } from '../location.js';
import { checkpointsOfOneRank, error, load, request } from '../testing/saves.js';

let folder: string;
beforeEach(async () => void (folder = await mkdtemp(join(tmpdir(), 'acc-save-'))));
afterEach(() => rm(folder, { recursive: true }));

const checkpointsOf = (options: CheckpointOptions = {}) => checkpointsOfOneRank({ dir: folder, ...options });

describe.each(['acc', 'cpu'])('a checkpoint on %s', (backend) => {
  beforeEach(async () => {
    if (backend === 'acc') registerAccBackend({ device: 'cpu' });
    await tf.setBackend(backend);
  });

  const state = () => ({
    weights: [tf.tensor2d([[1, 2, 3]]), tf.scalar(5, 'int32'), tf.tensor1d([true, false], 'bool')],
    empty: tf.zeros([0, 3]),
    complex: tf.complex([1, 2], [3, 4]),
    turned: tf.tidy(() => tf.transpose(tf.tensor2d([[1, 2, 3]]))),
    big: tf.range(0, 40_000),
    name: 'a run',
    rates: Float64Array.of(0.1, NaN),
  });

  it('is restored bit for bit, and saving leaves no tensors behind', async () => {
    const saved = state();
    await expectNoLeak(
      async () => {
        await checkpointsOf().save(join(folder, 'c'), request(saved), false);
        const { tree, tensors } = await load(join(folder, 'c'));
        const read = tree as typeof saved;
        expect(read).toMatchObject({ name: 'a run', rates: saved.rates });
        for (const key of ['empty', 'complex', 'turned', 'big'] as const) {
          expect([read[key].shape, read[key].dtype]).toEqual([saved[key].shape, saved[key].dtype]);
          expect(await read[key].data()).toEqual(await saved[key].data());
        }
        expect(read.weights.map((x) => x.arraySync())).toEqual([[[1, 2, 3]], 5, [1, 0]]);
        tf.dispose([...tensors]);
      },
      { memory: () => ({ tensors: tf.memory().numTensors + liveTensors() }) },
    );
    tf.dispose(saved as unknown as tf.TensorContainer);
  });

  it('has the values of the moment at which save was called', async () => {
    const w = tf.variable(tf.fill([100_000], 1));
    const checkpoints = checkpointsOf();
    await checkpoints.save(join(folder, 'c'), request({ w }), true);
    w.assign(tf.tidy(() => tf.fill([100_000], 2)));
    await checkpoints.settle();
    const { tree } = await load(join(folder, 'c'));
    expect((tree as { w: tf.Tensor }).w.dataSync()[99_999]).toBe(1);
  });
});

describe('large tensors that are loaded on acc', () => {
  const place = () => join(folder, 'c');
  const tensorsFile = async () =>
    join(
      place(),
      (await readdir(place())).find((name) => name.endsWith('.safetensors'))!,
    );
  const elements = Float32Array.from({ length: 5_000_000 }, (_, i) => i);
  beforeEach(async () => {
    registerAccBackend({ device: 'cpu' });
    await tf.setBackend('acc');
    // The size of the first tensor is not a multiple of 64 bytes. The other one follows it in
    // memory and precedes it in the file.
    const state = { odd: tf.tensor1d(elements.subarray(0, 500_001)), big: tf.tensor1d(elements) };
    await checkpointsOf().save(place(), request(state), false);
    tf.dispose(state);
  });

  it('are restored, and changes to them never reach the file', async () => {
    const before = await readFile(await tensorsFile());
    await expectNoLeak(
      async () => {
        const { tree, tensors } = await load(place());
        const { odd, big } = tree as Record<'odd' | 'big', tf.Tensor>;
        expect(Buffer.from(odd.dataSync().buffer).equals(Buffer.from(elements.buffer, 0, 2_000_004))).toBe(
          true,
        );
        const w = tf.variable(big);
        tf.dispose([...tensors]);
        tf.tidy(() => void w.assign(w.add(1)));
        expect(w.dataSync()[4_999_999]).toBe(5_000_000);
        w.dispose();
      },
      { memory: () => ({ tensors: tf.memory().numTensors + liveTensors() }) },
    );
    expect((await readFile(await tensorsFile())).equals(before)).toBe(true);
  });

  it('are refused if their checksum does not match', async () => {
    const file = await tensorsFile();
    const bytes = await readFile(file);
    bytes[bytes.length >> 1]! ^= 1;
    await writeFile(file, bytes);
    await expect(load(place())).rejects.toThrowError(error('ACC_CHECKPOINT_CORRUPT'));
  });
});

describe('a checkpoint', () => {
  beforeEach(() => tf.setBackend('cpu'));

  it('replaces the previous one only when it is complete', async () => {
    const place = join(folder, 'c');
    await checkpointsOf().save(place, request({ x: tf.scalar(1) }), false);
    const before = await readdir(place);
    await writeFile(join(place, 'notes.txt'), 'mine');
    await expect(checkpointsOf().save(place, request({ f: () => 1 }), false)).rejects.toThrowError(
      error('ACC_STATE_INVALID'),
    );
    expect((await readdir(place)).sort()).toEqual([...before, 'notes.txt'].sort());
    await checkpointsOf().save(place, request({ x: tf.scalar(2) }), false);
    const after = await readdir(place);
    expect(after).toHaveLength(before.length + 1);
    expect(after.filter((name) => before.includes(name))).toEqual(['checkpoint.json']);
    expect(((await load(place)).tree as { x: tf.Tensor }).x.dataSync()[0]).toBe(2);
  });

  it.each(['safetensors', 'index', 'cut'])('with a damaged %s is refused', async (what) => {
    const place = join(folder, 'c');
    await checkpointsOf().save(place, request({ x: tf.range(0, 100) }), false);
    const name = (await readdir(place)).find((each) =>
      each.includes(what === 'index' ? 'index' : '.safetensors'),
    )!;
    const bytes = await readFile(join(place, name));
    bytes[bytes.length - 9]! ^= 1;
    await writeFile(join(place, name), what === 'cut' ? bytes.subarray(0, -1) : bytes);
    await expect(load(place)).rejects.toThrowError(error('ACC_CHECKPOINT_CORRUPT'));
  });

  it('is found by name only when it is complete', async () => {
    const checkpoints = checkpointsOf();
    expect(await checkpoints.newest(new Set())).toBeUndefined();
    for (const step of [1, 2, 3]) await checkpoints.save(undefined, request({ step }, step), false);
    expect(await checkpoints.newest(new Set())).toBe('step-00000003');
    expect(await checkpoints.newest(new Set(['step-00000003']))).toBe('step-00000002');
    await rm(join(folder, 'step-00000003', 'checkpoint.json'));
    await writeFile(join(folder, 'step-00000002', 'checkpoint.json'), '{"format"');
    expect(await checkpoints.newest(new Set())).toBe('step-00000001');
    await expect(openCheckpoint(locationOf(join(folder, 'step-00000003'), undefined))).rejects.toThrowError(
      error('ACC_CHECKPOINT_NOT_FOUND'),
    );
  });

  it('that is missing is an error with the newest one in the folder, however that looks', async () => {
    for (const epoch of [9, 10])
      await checkpointsOf().save(join(folder, `epoch-${epoch}`), request({}), false);
    const advice = async (path: string) => {
      const open = openCheckpoint(locationOf(path, undefined));
      return ((await open.catch((error: unknown) => error)) as AccError).help;
    };
    const plain = 'Check the path. A complete checkpoint contains a file checkpoint.json.';
    expect(await advice(folder)).toContain(`Did you mean ${join(folder, 'epoch-10')}?`);
    // Nothing below can be read where a link leads to itself.
    await mkdir(join(folder, 'other'));
    await symlink('loop', join(folder, 'other', 'loop'));
    expect(await advice(folder)).toContain('epoch-10');
    expect(await advice(join(folder, 'other'))).toBe(plain);
    expect(await advice(join(folder, 'epoch-9', 'checkpoint.json'))).toBe(plain);
  });

  it('with a later format version is refused', async () => {
    const place = join(folder, 'c');
    await checkpointsOf().save(place, request({}), false);
    const marker = JSON.parse(await readFile(join(place, 'checkpoint.json'), 'utf8')) as object;
    await writeFile(join(place, 'checkpoint.json'), JSON.stringify({ ...marker, version: 99 }));
    await expect(load(place)).rejects.toThrowError(error('ACC_CHECKPOINT_VERSION'));
  });
});

describe('saves', () => {
  beforeEach(() => tf.setBackend('cpu'));

  it('keep what retention asks for, the checkpoint that was resumed from, and foreign files', async () => {
    await checkpointsOf().save(join(folder, 'mine'), request({}, 1), false);
    const checkpoints = checkpointsOf({ keepLast: 2, keepEvery: 4 });
    for (const step of [1, 2]) await checkpoints.save(undefined, request({}, step), false);
    checkpoints.use('step-00000001');
    for (const step of [3, 4, 5, 6, 7]) await checkpoints.save(undefined, request({}, step), false);
    expect((await readdir(folder)).sort()).toEqual([
      'mine',
      'step-00000001',
      'step-00000004',
      'step-00000006',
      'step-00000007',
    ]);
  });

  it('delete the files that a killed process left behind', async () => {
    const checkpoints = checkpointsOf();
    await checkpoints.save(undefined, request({ x: tf.scalar(1) }, 1), false);
    await checkpoints.save(undefined, request({ x: tf.scalar(1) }, 2), false);
    await rm(join(folder, 'step-00000001', 'checkpoint.json'));
    await checkpoints.save(undefined, request({}, 3), false);
    expect((await readdir(folder)).sort()).toEqual(['step-00000002', 'step-00000003']);
  });

  it('throw or warn if they fail, and leave nothing behind', async () => {
    await writeFile(join(folder, 'file'), '');
    const place = join(folder, 'file', 'below');
    await expect(checkpointsOf().save(place, request({}), false)).rejects.toThrowError(
      error('ACC_CHECKPOINT_SAVE_FAILED'),
    );
    expect(await checkpointsOf({ onError: 'warn' }).save(place, request({}), false)).toBeUndefined();
    const behind = checkpointsOf();
    await behind.save(place, request({}), true);
    await expect(behind.save(join(folder, 'c'), request({}), true)).rejects.toThrowError(
      error('ACC_CHECKPOINT_SAVE_FAILED'),
    );
    expect(await readdir(folder)).toEqual(['file']);
  });
});

describe('options', () => {
  it.each<[string, object, string]>([
    ['an unknown one', { keepLats: 3 }, 'ACC_UNKNOWN_OPTION'],
    ['a number below 1', { keepLast: 0 }, 'ACC_INVALID_OPTION'],
    ['keepBest without keepLast', { keepBest: { metric: 'loss', mode: 'min' } }, 'ACC_INVALID_OPTION'],
    ['an unknown mode', { keepLast: 1, keepBest: { metric: 'loss', mode: 'least' } }, 'ACC_INVALID_OPTION'],
    ['a storage without verbs', { storage: { put() {} } }, 'ACC_INVALID_OPTION'],
  ])('refuse %s', (_, options, code) => {
    expect(() => resolveCheckpointOptions(options)).toThrowError(error(code));
  });
});
