import * as tf from '@tensorflow/tfjs';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { crc32 } from '@acc/platform';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { Accelerator } from '../accelerator.js';
import { DataLoader } from '../index.js';

let folder: string;
let accelerator: Accelerator;
let model: tf.LayersModel;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'acc-state-'));
  accelerator = await Accelerator.create({ checkpoint: { dir: folder, preemption: false } });
  const dense = tf.sequential({ layers: [tf.layers.dense({ units: 2, inputShape: [3] })] });
  const loader = new DataLoader([1, 2, 3, 4], { batchSize: 2 });
  [model] = accelerator.prepare(dense, tf.train.adam(0.1), loader);
  await accelerator.saveState(join(folder, 'c'));
});
afterEach(async () => {
  accelerator.freeMemory();
  await rm(folder, { recursive: true });
});

/** The fields of a state that a test changes. */
interface State {
  shared: Record<string, unknown> & {
    model: Record<string, unknown> & { optimizers: Record<string, unknown>[] };
  };
  ranks: (Record<string, unknown> & { accumulation: Record<string, unknown> })[];
}

/** Changes the index, and the checksum of it in the marker. */
async function changeState(change: (state: State) => unknown): Promise<void> {
  const place = (name: string) => join(folder, 'c', name);
  const marker = JSON.parse(await readFile(place('checkpoint.json'), 'utf8')) as { index: { name: string } };
  const { name } = marker.index;
  const index = JSON.parse(await readFile(place(name), 'utf8')) as State;
  change(index);
  const bytes = Buffer.from(JSON.stringify(index));
  await writeFile(place(name), bytes);
  const sum = crc32(bytes).toString(16).padStart(8, '0');
  const changed = { ...marker, index: { name, bytes: bytes.length, crc32: sum } };
  await writeFile(place('checkpoint.json'), JSON.stringify(changed));
}

it('a state that was not changed is loaded', async () => {
  await changeState(() => {});
  await accelerator.loadState(join(folder, 'c'));
});

it.each<[string, (state: State) => unknown, RegExp]>([
  ['a list', (state) => (state.shared = [] as never), /the state of all ranks/],
  ['null', (state) => (state.shared = null as never), /the state of all ranks/],
  ['no data', (state) => delete state.shared['data'], /all ranks: data/],
  ['data that is no position', (state) => (state.shared['data'] = [7]), /all ranks: data.0/],
  ['orders without a source', (state) => (state.shared['orders'] = { seed: 1 }), /all ranks: orders.source/],
  ['no list of weights', (state) => (state.shared.model['parameters'] = 'w'), /model.parameters/],
  [
    'an optimizer without a kind',
    (state) => delete state.shared.model.optimizers[0]!['kind'],
    /optimizers.0.kind/,
  ],
  ['slots that are numbers', (state) => (state.shared.model.optimizers[0]!['slots'] = { m: 3 }), /slots.m/],
  ['scalars that are values', (state) => (state.shared.model.optimizers[0]!['scalars'] = [1]), /scalars.0/],
  ['a rank that is a number', (state) => (state.ranks[0] = 5 as never), /the state of rank 0/],
  ['no random state', (state) => delete state.ranks[0]!['random'], /rank 0: random/],
  ['no objects', (state) => delete state.ranks[0]!['registered'], /rank 0: registered/],
  [
    'no window',
    (state) => delete (state.ranks[0] as Record<string, unknown>)['accumulation'],
    /accumulation/,
  ],
  [
    'sums without variables',
    (state) => Object.assign(state.ranks[0]!.accumulation, { held: [{}] }),
    /held.0/,
  ],
])('a state with %s is refused, and nothing of the run changes', async (_, change, problem) => {
  await changeState(change);
  const weights = () => model.getWeights().map((weight) => Array.from(weight.dataSync()));
  const before = weights();
  const failed = {
    code: 'ACC_CHECKPOINT_INVALID',
    message: expect.stringMatching(problem) as string,
  };
  await expect(accelerator.loadState(join(folder, 'c'))).rejects.toThrow(
    expect.objectContaining(failed) as Error,
  );
  await expect(accelerator.loadState(join(folder, 'c'))).rejects.toThrow(join(folder, 'c'));
  expect(weights()).toEqual(before);
});
