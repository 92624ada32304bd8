import * as tf from '@tensorflow/tfjs';
import { mkdtemp, rm, truncate, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { encodeHeader } from '../format/safetensors.js';
import { layer } from '../testing/saves.js';
import { modelFiles } from './model-json.js';
import { openWeights } from './stored-weights.js';

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'acc-files-'));
  await tf.setBackend('cpu');
});
afterEach(() => rm(folder, { recursive: true }));

const failure = (code: string, message: RegExp): Error =>
  expect.objectContaining({ code, message: expect.stringMatching(message) as string }) as Error;
const place = (name: string) => join(folder, name);

async function writeTensors(name: string, ...keys: string[]): Promise<void> {
  const { bytes } = encodeHeader(
    keys.map((key) => ({ key, dtype: 'F32', shape: [2] })),
    {},
  );
  await writeFile(place(name), Buffer.concat([bytes, Buffer.alloc(8 * keys.length)]));
}
const writeJson = (name: string, json: unknown) => writeFile(place(name), JSON.stringify(json));

it('a tensor in two files of an index is refused with both names', async () => {
  await writeTensors('a.safetensors', 'x', 'y');
  await writeTensors('b.safetensors', 'y', 'z');
  await writeJson('model.safetensors.index.json', { weight_map: { x: 'a.safetensors', z: 'b.safetensors' } });
  await expect(openWeights(folder)).rejects.toThrow(
    failure('ACC_SAFETENSORS_INVALID', /'y' is in two files .*a.safetensors and b.safetensors/),
  );
});

it.each([[{ x: 3 }], [{ x: null }], [['a.safetensors']], ['a'], [null]])(
  'an index with the weight_map %j is refused',
  async (map) => {
    await writeTensors('a.safetensors', 'x');
    await writeJson('model.safetensors.index.json', { weight_map: map });
    await expect(openWeights(folder)).rejects.toThrow(
      failure('ACC_SAFETENSORS_INVALID', /model.safetensors.index.json has no weight_map of names/),
    );
  },
);

it('a header that is not there takes no memory', async () => {
  const length = Buffer.alloc(8);
  length.writeBigUInt64LE(90_000_000n);
  await writeFile(place('model.safetensors'), length);
  const before = process.memoryUsage().arrayBuffers;
  await expect(openWeights(folder)).rejects.toThrow(failure('ACC_SAFETENSORS_INVALID', /truncated/));
  expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(10_000_000);
});

it.each([
  [
    'names that are no strings',
    { name: 7, shape: [1], dtype: 'float32' },
    /weightsManifest.0.weights.0.name/,
  ],
  ['negative shapes', { name: 'w', shape: [-1], dtype: 'float32' }, /weights.0.shape.0/],
  ['unknown dtypes', { name: 'w', shape: [1], dtype: 'float8' }, /weights.0.dtype/],
  [
    'more elements than there are',
    { name: 'w', shape: [2 ** 40], dtype: 'string' },
    /need at least 4398046511104 b/,
  ],
  [
    'shapes that overflow',
    { name: 'w', shape: [2 ** 30, 2 ** 30], dtype: 'bool' },
    /'w' has too many elements/,
  ],
])('a model.json with %s is refused', async (_, weight, message) => {
  await writeFile(place('w.bin'), Buffer.alloc(8));
  await writeJson('model.json', { weightsManifest: [{ paths: ['w.bin'], weights: [weight] }] });
  const read = async () => {
    const [first] = await openWeights(place('model.json'));
    return first!.read(layer());
  };
  await expect(read()).rejects.toThrow(failure('ACC_MODEL_JSON_INVALID', message));
  await expect(read()).rejects.toThrow(place('model.json'));
  const load = async () => modelFiles(folder).load!();
  await expect(load()).rejects.toThrow(failure('ACC_MODEL_JSON_INVALID', message));
});

it('a model.json with two weights of one name, or a file that is cut off, is refused', async () => {
  const weight = { name: 'w', shape: [2], dtype: 'float32' };
  await writeJson('model.json', { weightsManifest: [{ paths: ['w.bin'], weights: [weight, weight] }] });
  await expect(openWeights(folder)).rejects.toThrow(failure('ACC_MODEL_JSON_INVALID', /lists .* 'w' twice/));
  await writeTensors('x.safetensors', 'x');
  await truncate(place('x.safetensors'), 40);
  await expect(openWeights(place('x.safetensors'))).rejects.toThrow(
    failure('ACC_SAFETENSORS_INVALID', /x.safetensors is truncated/),
  );
});
