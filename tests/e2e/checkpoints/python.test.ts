import { execFile } from 'node:child_process';
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import * as tf from '@tensorflow/tfjs';
import { fileStorage, openCheckpoint } from '@acc/checkpoint';
import { Accelerator } from '@acc/core';
import { onRanks } from '../on-ranks.js';
import type { Reader } from '../trackers/python/reader.js';
import { venv } from '../trackers/python/venv.js';
import type { Outcome, Outcomes } from './ranks/by-name.js';

interface Found {
  metadata: Record<string, string>;
  tensors: Record<string, { shape: number[]; dtype: string; values: number[] }>;
}

let folder: string;
let reader: Reader;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'acc-python-'));
  reader = (await venv('safetensors')).reader('read_safetensors.py');
}, 600_000);
afterAll(async () => {
  reader.close();
  await rm(folder, { recursive: true });
});

const acc = (args: readonly string[]) =>
  promisify(execFile)(process.execPath, [
    fileURLToPath(new URL('../../../packages/cli/bin/acc.js', import.meta.url)),
    ...args,
  ]);

it('reads every element type that saveModel writes', async () => {
  const accelerator = await Accelerator.create();
  const weights = [
    tf.variable(
      tf.tensor2d([
        [1.5, -2],
        [3, 0.25],
      ]),
      true,
      'float',
    ),
    tf.variable(tf.tensor1d([1, -2], 'int32'), false, 'int'),
    tf.variable(tf.tensor1d([true, false, true], 'bool'), false, 'bool'),
    tf.variable(tf.scalar(7), true, 'scalar'),
    tf.variable(tf.zeros([0, 2]), true, 'empty'),
  ];
  await accelerator.saveModel(weights, folder);
  accelerator.freeMemory();
  const { tensors, metadata } = await reader.ask<Found>(join(folder, 'model.safetensors'));
  expect(metadata).toEqual({ format: 'tf' });
  expect(tensors).toEqual({
    float: { shape: [2, 2], dtype: 'float32', values: [1.5, -2, 3, 0.25] },
    int: { shape: [2], dtype: 'int32', values: [1, -2] },
    bool: { shape: [3], dtype: 'bool', values: [true, false, true] },
    scalar: { shape: [], dtype: 'float32', values: [7] },
    empty: { shape: [0, 2], dtype: 'float32', values: [] },
  });
});

describe('a checkpoint that three ranks wrote in parts', () => {
  let place: string;
  let weights: Record<string, number[]>;
  beforeAll(async () => {
    place = join(folder, 'run');
    const module = new URL('./ranks/by-name.ts', import.meta.url);
    const env = { OMP_NUM_THREADS: '1' };
    const args = { action: 'save', folder: place };
    const [first] = await onRanks<Outcomes>({ module, ranks: 3, args, env });
    place = join(place, 'sharded-3-0');
    weights = (first!['sharded-3-0']!.sharded as Outcome).at.weights;
  });

  it('is read by Python, part by part', async () => {
    const { index } = await openCheckpoint({ storage: fileStorage(place), prefix: '' });
    for (const { name } of index.files) {
      const { tensors } = await reader.ask<Found>(join(place, name));
      const parts = Object.values(index.tensors).flatMap((tensor) => tensor.parts);
      const here = parts.filter(({ file }) => file === name);
      expect(Object.keys(tensors).sort()).toEqual(here.map(({ key }) => key).sort());
      for (const { key, sizes } of here) expect(tensors[key]!.shape).toEqual(sizes);
    }
  });

  it.each([
    [[], ['model.safetensors']],
    [
      ['--max-shard-size', '200B'],
      [
        'model-00001-of-00002.safetensors',
        'model-00002-of-00002.safetensors',
        'model.safetensors.index.json',
      ],
    ],
  ])('is merged by acc merge-weights %j', async (options, files) => {
    const merged = join(folder, `merged ${options.length}`);
    const { stdout } = await acc(['merge-weights', place, merged, ...options]);
    expect(stdout).toMatch(/^7 tensors, \d+ B: /);
    expect((await readdir(merged)).sort()).toEqual(files);
    const found: Found['tensors'] = {};
    for (const file of files.filter((name) => name.endsWith('.safetensors'))) {
      Object.assign(found, (await reader.ask<Found>(join(merged, file))).tensors);
    }
    const shapes = Object.fromEntries(Object.entries(found).map(([name, { shape }]) => [name, shape]));
    expect(shapes).toEqual({
      a: [3, 4],
      b: [5],
      c: [2, 6],
      columns: [3, 6],
      few: [3, 2],
      everywhere: [3],
      rows: [7, 5],
    });
    for (const [name, { values }] of Object.entries(found)) expect(values).toEqual(weights[name]);
  });
});
