import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type * as tfjs from '@tensorflow/tfjs';
import { crc32Hex } from './files.js';
import type { Format, Seed } from './formats.js';

/** Formats of models and checkpoints. What they need is loaded by the first read. */

const CONFIG = { model_type: 'gpt2', vocab_size: 11, n_positions: 8, n_embd: 4, n_layer: 1, n_head: 2 };

/** Loads tfjs, on its own backend. */
async function load(): Promise<typeof tfjs> {
  const tf = await import('@tensorflow/tfjs');
  await tf.setBackend('cpu');
  return tf;
}

/** The files that a function writes into a folder. */
async function filesOf(write: (folder: string) => Promise<unknown>): Promise<Record<string, Uint8Array>> {
  const folder = await mkdtemp(join(tmpdir(), 'acc-seed-'));
  await write(folder);
  const names = await readdir(folder, { recursive: true, withFileTypes: true });
  const files: Record<string, Uint8Array> = {};
  for (const entry of names.filter((each) => each.isFile())) {
    const path = join(entry.parentPath, entry.name);
    files[path.slice(folder.length + 1)] = await readFile(path);
  }
  await rm(folder, { recursive: true });
  return files;
}

async function readWeights(path: string): Promise<void> {
  const tf = await load();
  const { openWeights } = await import('@acc/checkpoint');
  const { kernelLayerOf } = await import('@acc/kernels');
  const { state } = kernelLayerOf(tf.getBackend(), tf.backend());
  const weights = await openWeights(path);
  for (const weight of weights) (await weight.read(state)).dispose();
  for (const weight of weights) await weight.release?.();
}

async function pretrained(maxShardSize?: number): Promise<Record<string, Uint8Array>> {
  await load();
  const { gpt2, savePretrained } = await import('@acc/transformer');
  const model = gpt2(CONFIG as never);
  const files = await filesOf((folder) =>
    savePretrained(model, folder, maxShardSize ? { maxShardSize } : {}),
  );
  model.dispose();
  return files;
}

async function modelJson(): Promise<Record<string, Uint8Array>> {
  const tf = await load();
  const { modelFiles } = await import('@acc/checkpoint');
  const model = tf.sequential({ layers: [tf.layers.dense({ units: 2, inputShape: [3] })] });
  const files = await filesOf((folder) => model.save(modelFiles(folder)));
  model.dispose();
  return files;
}

async function accelerator(folder: string) {
  const tf = await load();
  const { Accelerator, DataLoader } = await import('@acc/core');
  const checkpoint = { dir: folder, preemption: false } as const;
  const made = await Accelerator.create({ engine: 'tfjs', checkpoint });
  const model = tf.sequential({ layers: [tf.layers.dense({ units: 2, inputShape: [3] })] });
  const loader = new DataLoader([1, 2, 3, 4], { batchSize: 2 });
  made.prepare(model, tf.train.adam(0.1), loader);
  return made;
}

async function checkpointFiles(): Promise<Record<string, Uint8Array>> {
  return filesOf(async (folder) => {
    const saved = await accelerator(folder);
    await saved.saveState(join(folder, 'c'));
    saved.freeMemory();
  });
}

/** The marker holds the checksum of the index. */
function adaptMarker(files: Record<string, Uint8Array>, index: string): void {
  const marker = JSON.parse(Buffer.from(files['c/checkpoint.json']!).toString()) as { index: object };
  const bytes = files[index]!;
  marker.index = { ...marker.index, bytes: bytes.length, crc32: crc32Hex(bytes) };
  files['c/checkpoint.json'] = Buffer.from(JSON.stringify(marker));
}

export const FORMATS: readonly Format[] = [
  {
    name: 'safetensors',
    async seeds() {
      const [whole, shards] = [await pretrained(), await pretrained(400)];
      const index = 'model.safetensors.index.json';
      return [
        { files: whole, damaged: 'model.safetensors' },
        { files: shards, damaged: index, isJson: true },
      ];
    },
    read: (folder) => readWeights(folder),
  },
  {
    name: 'pretrained models',
    async seeds() {
      const files = await pretrained();
      return [
        { files, damaged: 'config.json', isJson: true },
        { files, damaged: 'model.safetensors' },
      ];
    },
    async read(folder) {
      await load();
      const { loadPretrained } = await import('@acc/transformer');
      (await loadPretrained(folder)).dispose();
    },
  },
  {
    name: 'model.json',
    async seeds() {
      const files = await modelJson();
      const weights = Object.keys(files).find((name) => name.endsWith('.bin'))!;
      return [
        { files, damaged: 'model.json', isJson: true },
        { files, damaged: weights },
      ];
    },
    read: (folder) => readWeights(join(folder, 'model.json')),
  },
  {
    name: 'checkpoints',
    async seeds() {
      const files = await checkpointFiles();
      const index = Object.keys(files).find((name) => /index.*\.json$/.test(name))!;
      const tensors = Object.keys(files).find((name) => name.endsWith('.safetensors'))!;
      const adapt = (changed: Record<string, Uint8Array>) => adaptMarker(changed, index);
      return [
        { files, damaged: index, isJson: true, adapt },
        { files, damaged: index, isJson: true, adapt },
        { files, damaged: 'c/checkpoint.json', isJson: true },
        { files, damaged: tensors },
      ] satisfies Seed[];
    },
    async read(folder) {
      const loading = await accelerator(folder);
      try {
        await loading.loadState(join(folder, 'c'));
      } finally {
        loading.freeMemory();
      }
    },
  },
];
