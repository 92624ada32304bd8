import type { Tensor } from '@tensorflow/tfjs-core';
import { AccError, type StateLayer, type Storage } from '@acc/contract';
import { nativeDtypeOf } from '../format/dtypes.js';
import { headerLength, LENGTH_BYTES, parseHeader, type StoredEntry } from '../format/safetensors.js';
import { describeLocation, type Location } from '../location.js';

/** A tensor that was not read yet. */
export interface StoredWeight {
  readonly name: string;
  readonly shape: readonly number[];
  /** The caller's. */
  read(layer: StateLayer): Promise<Tensor>;
}

/** Files of weights, named as the Hugging Face libraries name them. */
export const WEIGHTS = 'model.safetensors';
const INDEX = '.safetensors.index.json';
export const WEIGHTS_INDEX = `model${INDEX}`;

/**
 * The weights of a folder, which has one safetensors file, or an index of several.
 *
 * @throws AccError `ACC_WEIGHTS_NOT_FOUND`, `ACC_SAFETENSORS_INVALID`.
 */
export async function openSafetensorsIn(location: Location): Promise<StoredWeight[]> {
  const { storage, prefix } = location;
  const names = (await storage.list(prefix)).map(({ key }) => key.slice(prefix.length));
  const here = names.filter((name) => !name.includes('/'));
  const index = here.includes(WEIGHTS_INDEX) ? WEIGHTS_INDEX : here.find((name) => name.endsWith(INDEX));
  const files = index ? [index] : here.filter((name) => name.endsWith('.safetensors'));
  if (files.length === 1) return openSafetensors(location, files[0]!);
  const where = describeLocation(location);
  throw new AccError(
    'ACC_WEIGHTS_NOT_FOUND',
    files.length === 0
      ? `There are no weights in ${where}.`
      : `${where} has several safetensors files, and no index.`,
    {
      help: 'Name the file: *.safetensors, *.safetensors.index.json or model.json.',
      details: { names: here },
    },
  );
}

/** The weights of a safetensors file, or of those that an index names. */
export async function openSafetensors(location: Location, name: string): Promise<StoredWeight[]> {
  if (!name.endsWith(INDEX)) return openFile(location, name);
  const bytes = await location.storage.get(location.prefix + name);
  const { weight_map: map } = JSON.parse(new TextDecoder().decode(bytes)) as {
    weight_map?: Record<string, string>;
  };
  if (!map) throw new AccError('ACC_SAFETENSORS_INVALID', `${name} has no weight_map.`);
  const files = [...new Set(Object.values(map))];
  return (await Promise.all(files.map((file) => openFile(location, file)))).flat();
}

async function openFile({ storage, prefix }: Location, name: string): Promise<StoredWeight[]> {
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
  } catch (error) {
    target.dispose();
    throw error;
  }
  return target.toTensor();
}
