import { slice, type Tensor } from '@tensorflow/tfjs-core';
import { locationOf, type Box, type StoredWeight } from '@acc/checkpoint';
import { AccError, isAccError, type StateLayer } from '@acc/contract';
import type { ResolvedLlamaConfig } from '../models/llama-config.js';
import type { StoredFile } from './byte-cursor.js';
import { invalidGguf } from './errors.js';
import { configOfMetadata, ROPE_FACTORS } from './metadata.js';
import { readHeader, type GgufTensor } from './read-header.js';
import { ggufNameOf, hubNameOf, rowOrder } from './tensor-names.js';

/** Stored bytes that are read at a time, if a row has fewer. */
const CHUNK_BYTES = 4 * 1024 * 1024;

/** A Llama in a GGUF file. */
export interface OpenedGguf {
  readonly config: ResolvedLlamaConfig;
  /** The weights by the Hub's names, float32. */
  readonly stored: readonly StoredWeight[];
}

/** The folder, with its slash, and the name of a file. */
export function placeOf(path: string): readonly [folder: string, name: string] {
  const end = path.lastIndexOf('/') + 1;
  return [path.slice(0, end) || '.', path.slice(end)];
}

/**
 * Opens a GGUF file of a Llama. No weights are read.
 *
 * @throws AccError `ACC_WEIGHTS_NOT_FOUND`, `ACC_GGUF_INVALID`, `ACC_DTYPE_UNSUPPORTED`,
 * `ACC_MODEL_UNSUPPORTED`, `ACC_MODEL_CONFIG_INVALID`, `ACC_INVALID_OPTION`.
 */
export async function openGguf(path: string): Promise<OpenedGguf> {
  const [folder, key] = placeOf(path);
  const file: StoredFile = { storage: locationOf(folder, undefined).storage, key, where: path };
  await requireFile(file);
  const { metadata, tensors } = await readHeader(file);
  const byName = new Map(tensors.map((tensor) => [tensor.name, tensor]));
  const config = await configOfMetadata({
    metadata,
    shapeOf: (name) => byName.get(name)?.shape,
    valuesOf: (name) => readValues(byName.get(name)!, file),
    where: path,
  });
  const weights = tensors.filter(({ name }) => name !== ROPE_FACTORS);
  requireGgufNames(weights, path);
  return { config, stored: weights.map((tensor) => storedWeight(tensor, file, config)) };
}

async function requireFile({ storage, key, where }: StoredFile): Promise<void> {
  try {
    await storage.get(key, { into: new Uint8Array(0) });
  } catch (cause) {
    if (!isAccError(cause, 'ACC_STORAGE_NOT_FOUND')) throw cause;
    throw new AccError('ACC_WEIGHTS_NOT_FOUND', `There is no file ${where}.`, {
      help: 'Check the path, which is relative to the working directory.',
      cause,
    });
  }
}

/** Rows of a tensor with a name of the Hub may lie as llama.cpp has them, or as the Hub has them. */
function requireGgufNames(tensors: readonly GgufTensor[], where: string): void {
  for (const { name } of tensors) {
    const known = [name, `model.${name}`].find((each) => ggufNameOf(each) !== each);
    if (known === undefined) continue;
    throw invalidGguf(where, `it has the tensor '${name}'; expected the name '${ggufNameOf(known)}'`);
  }
}

function storedWeight(tensor: GgufTensor, file: StoredFile, config: ResolvedLlamaConfig): StoredWeight {
  const name = hubNameOf(tensor.name);
  const { shape } = tensor;
  return {
    name,
    shape,
    dtype: 'float32',
    async read(layer, box) {
      const whole = await readWhole(tensor, file, { layer, rowOf: rowOrder(name, shape[0]!, config) });
      return box ? boxOf(whole, box) : whole;
    },
  };
}

function boxOf(whole: Tensor, { offset, sizes }: Box): Tensor {
  if (sizes.join() === whole.shape.join()) return whole;
  const part = slice(whole, [...offset], [...sizes]);
  whole.dispose();
  return part;
}

interface Reading {
  readonly layer: StateLayer;
  readonly rowOf: ((row: number) => number) | undefined;
}

async function readWhole(tensor: GgufTensor, file: StoredFile, { layer, rowOf }: Reading): Promise<Tensor> {
  const target = layer.allocate('float32', tensor.shape);
  try {
    const { buffer, byteOffset, byteLength } = target.bytes;
    await fill(tensor, file, { values: new Float32Array(buffer, byteOffset, byteLength / 4), rowOf });
  } catch (error) {
    target.dispose();
    throw error;
  }
  return target.toTensor();
}

/** All values of a tensor, by its own order of rows. */
export async function readValues(tensor: GgufTensor, file: StoredFile): Promise<Float32Array> {
  const values = new Float32Array(tensor.shape.reduce((size, dim) => size * dim, 1));
  await fill(tensor, file, { values, rowOf: undefined });
  return values;
}

interface Filling {
  readonly values: Float32Array;
  readonly rowOf: Reading['rowOf'];
}

/** Reads and unpacks some lines at a time, which are those of the last dim. */
async function fill(
  tensor: GgufTensor,
  { storage, key }: StoredFile,
  { values, rowOf }: Filling,
): Promise<void> {
  const { shape, type, start, byteLength } = tensor;
  const length = shape.at(-1)!;
  const lines = values.length / length;
  const lineBytes = byteLength / lines;
  const most = Math.max(1, Math.floor(CHUNK_BYTES / lineBytes));
  for (let from = 0; from < lines; from += most) {
    const count = Math.min(most, lines - from);
    const blocks = new Uint8Array(count * lineBytes);
    await storage.get(key, { start: start + from * lineBytes, into: blocks });
    if (rowOf) {
      const some = new Float32Array(count * length);
      type.decode(blocks, some);
      scatter(some, values, { first: from * length, width: values.length / shape[0]!, rowOf });
    } else {
      type.decode(blocks, values.subarray(from * length, (from + count) * length));
    }
  }
}

interface Scattering {
  /** The place of the first value in the tensor. */
  readonly first: number;
  /** The values of a row. */
  readonly width: number;
  readonly rowOf: (row: number) => number;
}

function scatter(some: Float32Array, values: Float32Array, { first, width, rowOf }: Scattering): void {
  for (let at = 0; at < some.length; at += width) {
    values.set(some.subarray(at, at + width), rowOf((first + at) / width) * width);
  }
}
