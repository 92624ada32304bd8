import * as tf from '@tensorflow/tfjs';
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { checksumOf } from '../checksum.js';
import { hexOf, MARKER, type Index } from '../format/manifest.js';
import { mergeWeights } from '../model/merge-weights.js';
import { checkpointsOfOneRank, load, request } from '../testing/saves.js';

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'acc-damaged-'));
  await tf.setBackend('cpu');
  const [tensor, matrix] = [tf.range(0, 40_000), tf.ones([2, 3])];
  const state = { tensor, matrix, array: Float64Array.of(1, 2) };
  const checkpoints = checkpointsOfOneRank({ dir: folder });
  await checkpoints.save(join(folder, 'c'), request(state), false);
  tf.dispose([tensor, matrix]);
});
afterEach(() => rm(folder, { recursive: true }));

type Mutable<T> = T extends readonly (infer U)[]
  ? Mutable<U>[]
  : T extends object
    ? { -readonly [K in keyof T]: Mutable<T[K]> }
    : T;

/** Changes the index, and the checksum of it in the marker. */
async function changeIndex(change: (index: Mutable<Index>) => unknown): Promise<void> {
  const place = (name: string) => join(folder, 'c', name);
  const marker = JSON.parse(await readFile(place(MARKER), 'utf8')) as { index: Record<string, unknown> };
  const name = marker.index['name'] as string;
  const index = JSON.parse(await readFile(place(name), 'utf8')) as Mutable<Index>;
  change(index);
  const bytes = Buffer.from(JSON.stringify(index));
  await writeFile(place(name), bytes);
  marker.index = { ...marker.index, bytes: bytes.length, crc32: hexOf(await checksumOf(bytes)) };
  await writeFile(place(MARKER), JSON.stringify(marker));
}

const tensorOf = (index: Mutable<Index>, end: string) =>
  Object.entries(index.tensors).find(([name]) => name.endsWith(end))![1];

const invalid = (problem: RegExp): Error =>
  expect.objectContaining({
    code: 'ACC_CHECKPOINT_INVALID',
    message: expect.stringMatching(problem) as string,
  }) as Error;

describe('an index that states', () => {
  it.each<[string, (index: Mutable<Index>) => unknown, RegExp]>([
    ['too few checksums', (index) => tensorOf(index, 'tensor').parts[0]!.crc32.pop(), /0 checksums for 1 bl/],
    ['a tiny block', (index) => (index.chunkBytes = 1), /1 checksums for 160000 blocks/],
    ['blocks without bytes', (index) => (index.chunkBytes = 0), /its blocks have no bytes/],
    [
      'a shape whose product overflows',
      (index) => (tensorOf(index, 'tensor').shape = [2 ** 32, 2 ** 32, 0]),
      /tensor' has too many elements/,
    ],
    ['a larger shape', (index) => (tensorOf(index, 'tensor').shape = [2 ** 40]), /1099511627776 elements/],
    ['no parts', (index) => (tensorOf(index, 'tensor').parts = []), /40000 elements, and its parts 0/],
    [
      'a part twice',
      (index) => {
        const tensor = tensorOf(index, 'matrix');
        tensor.shape = [4, 3];
        tensor.parts.push(tensor.parts[0]!);
      },
      /parts 0 and 1 of .*matrix' have elements in common/,
    ],
    [
      'other dims',
      (index) => (tensorOf(index, 'matrix').parts[0]!.sizes = [6]),
      /outside of the shape \[2,3\]/,
    ],
    [
      'a place behind the file',
      (index) => (tensorOf(index, 'matrix').parts[0]!.start = 2 ** 40),
      /it ends at byte/,
    ],
    ['an unknown file', (index) => (tensorOf(index, 'matrix').parts[0]!.file = '../x'), /x is not listed/],
    ['fewer ranks', (index) => (index.ranks = []), /states 1 ranks, and has the states of 0/],
    ['no ranks at all', (index) => ((index.worldSize = 0), (index.ranks = [])), /states 0 ranks/],
    ['deep JSON', (index) => (index.shared = JSON.parse('['.repeat(2000) + ']'.repeat(2000))), /1000 deep/],
    ['a tag that is none', (index) => (index.shared = { $acc: null }), /no valid \$acc/],
    ['a reference without a name', (index) => (index.shared = { $acc: { kind: 'tensor' } }), /has no name/],
    [
      'a reference of another kind',
      (index) => (index.shared = { $acc: { kind: 'array', name: 'x', type: 'Map' } }),
      /'x' is a reference of an unknown kind/,
    ],
    [
      'an array of another type',
      (index) => {
        const [name] = Object.entries(index.tensors).find(([each]) => each.endsWith('array'))!;
        index.shared = { $acc: { kind: 'array', name, type: 'Int8Array' } };
      },
      /elements of type F64, which are no Int8Array/,
    ],
  ])('%s is refused with its place', async (_, change, problem) => {
    await changeIndex(change);
    const before = tf.memory().numTensors;
    await expect(load(join(folder, 'c'))).rejects.toThrow(invalid(problem));
    await expect(load(join(folder, 'c'))).rejects.toThrow(join(folder, 'c'));
    expect(tf.memory().numTensors).toBe(before);
  });

  it('nothing wrong is read', async () => {
    await changeIndex((index) => (index.epoch = 3));
    const { tensors } = await load(join(folder, 'c'));
    expect(tensors.map(({ shape }) => shape)).toEqual([[40_000], [2, 3]]);
    tf.dispose([...tensors]);
  });

  it('a large tensor takes no memory before it is refused', async () => {
    await changeIndex((index) => {
      index.tensors = { 'parameters/w': { ...tensorOf(index, 'tensor'), shape: [2 ** 45] } };
    });
    await expect(mergeWeights(join(folder, 'c'), join(folder, 'm'))).rejects.toThrow(
      invalid(/parameters\/w/),
    );
    expect(await readdir(folder)).toEqual(['c']);
  });
});
