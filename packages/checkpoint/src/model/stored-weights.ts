import type { Tensor } from '@tensorflow/tfjs-core';
import { AccError, isAccError, type StateLayer } from '@acc/contract';
import { basename, dirname } from 'node:path';
import { nativeDtypeOf } from '../format/dtypes.js';
import { MARKER } from '../format/manifest.js';
import { headerLength, LENGTH_BYTES, parseHeader, type StoredEntry } from '../format/safetensors.js';
import { describeLocation, locationOf, type Location } from '../location.js';
import { openCheckpoint } from '../read/open.js';
import { readTensors } from '../read/read-tensors.js';
import type { Storage } from '../storage/storage.js';
import { PARAMETERS } from './merge-weights.js';
import { MODEL_JSON, readModelJsonWeights } from './model-json.js';
import { WEIGHTS_INDEX } from './write-weights.js';

/** A tensor that was not read yet. */
export interface StoredWeight {
  readonly name: string;
  readonly shape: readonly number[];
  /** The caller's. */
  read(layer: StateLayer): Promise<Tensor>;
}

/**
 * Weights in files: a safetensors file, a folder of such, of the Hugging Face Hub for instance, a `model.json` of tfjs, or a
 * checkpoint that `saveState` wrote.
 *
 * @throws AccError `ACC_WEIGHTS_NOT_FOUND`, `ACC_SAFETENSORS_INVALID`.
 */
export async function openWeights(path: string, storage?: Storage): Promise<StoredWeight[]> {
  if (/\.(?:safetensors|json)$/.test(path)) {
    const location = locationOf(dirname(path), storage);
    return openFile(location, basename(path));
  }
  const location = locationOf(path, storage);
  const objects = await location.storage.list(location.prefix);
  const names = objects
    .map(({ key }) => key.slice(location.prefix.length))
    .filter((name) => !name.includes('/'));
  if (names.includes(MARKER)) return openRun(location);
  const index =
    names.find((name) => name === WEIGHTS_INDEX) ??
    names.find((name) => name.endsWith('.safetensors.index.json'));
  const files = index ? [index] : names.filter((name) => name.endsWith('.safetensors'));
  if (files.length === 1) return openFile(location, files[0]!);
  if (files.length === 0 && names.includes(MODEL_JSON)) return openFile(location, MODEL_JSON);
  const where = describeLocation(location);
  throw new AccError(
    'ACC_WEIGHTS_NOT_FOUND',
    files.length === 0
      ? `There are no weights in ${where}.`
      : `${where} has several safetensors files and no index.`,
    {
      help: 'Name the file: *.safetensors, *.safetensors.index.json or model.json.',
      details: { names },
    },
  );
}

async function openFile(location: Location, name: string): Promise<StoredWeight[]> {
  try {
    if (name.endsWith('.index.json')) return await openIndexed(location, name);
    return await (name.endsWith('.json')
      ? readModelJsonWeights(location, name)
      : openSafetensors(location, name));
  } catch (error) {
    if (!isAccError(error, 'ACC_STORAGE_NOT_FOUND')) throw error;
    throw new AccError('ACC_WEIGHTS_NOT_FOUND', error.message, { cause: error });
  }
}

async function openIndexed(location: Location, name: string): Promise<StoredWeight[]> {
  const bytes = await location.storage.get(location.prefix + name);
  const { weight_map: map } = JSON.parse(new TextDecoder().decode(bytes)) as {
    weight_map?: Record<string, string>;
  };
  if (!map) throw new AccError('ACC_SAFETENSORS_INVALID', `${name} has no weight_map.`);
  const files = await Promise.all(
    [...new Set(Object.values(map))].map((file) => openSafetensors(location, file)),
  );
  return files.flat();
}

async function openSafetensors({ storage, prefix }: Location, name: string): Promise<StoredWeight[]> {
  const key = prefix + name;
  const where = `${storage.location}/${key}`;
  const start = await storage.get(key, { into: new Uint8Array(LENGTH_BYTES) });
  const text = new Uint8Array(headerLength(start, where));
  await storage.get(key, { start: LENGTH_BYTES, into: text });
  const { entries } = parseHeader(text, undefined, where);
  return entries.map((entry) => ({
    name: entry.key,
    shape: entry.shape,
    read: (layer) => readEntry(storage, key, entry, layer),
  }));
}

async function readEntry(
  storage: Storage,
  file: string,
  { key, dtype, shape, start }: StoredEntry,
  layer: StateLayer,
): Promise<Tensor> {
  const target = layer.allocate(nativeDtypeOf(dtype, key), shape);
  try {
    await storage.get(file, { start, into: target.bytes });
    return target.toTensor();
  } catch (error) {
    target.dispose();
    throw error;
  }
}

async function openRun(location: Location): Promise<StoredWeight[]> {
  const checkpoint = await openCheckpoint(location);
  const stored = Object.entries(checkpoint.index.tensors).filter(([name]) => name.startsWith(PARAMETERS));
  return stored.map(([name, { shape }]) => ({
    name: name.slice(PARAMETERS.length),
    shape,
    async read(layer) {
      const [target] = await readTensors(checkpoint, [{ name }], layer);
      return target!.toTensor();
    },
  }));
}
