import { backend, getBackend } from '@tensorflow/tfjs-core';
import type { LayersModel } from '@tensorflow/tfjs-layers';
import { locationOf } from '@acc/checkpoint';
import { AccError, parseOptions, type StateLayer, type TensorBytes } from '@acc/contract';
import { kernelLayerOf } from '@acc/kernels';
import * as z from 'zod';
import { requireNoAdapters } from '../lora/adapted-layers.js';
import { configOf } from '../models/description.js';
import type { ResolvedLlamaConfig } from '../models/llama-config.js';
import { hubWeight } from '../pretrained/hub-names.js';
import { storedBytes } from '../pretrained/values.js';
import { WRITTEN_TYPES, type WrittenType } from './encode.js';
import { ROPE_FACTORS } from './metadata.js';
import { placeOf } from './open-gguf.js';
import { ggufNameOf, rowOrder } from './tensor-names.js';
import { metadataOf, ropeFactorsOf } from './written-metadata.js';
import { encodeGgufHeader, padding } from './write-header.js';

export interface SaveGgufOptions {
  /**
   * The type of matrices. Vectors are F32. `Q8_0` and `Q4_0` need rows of a multiple of 32 values. Default
   * `Q8_0`.
   */
  readonly type?: 'F32' | 'F16' | 'Q8_0' | 'Q4_0';
  /**
   * Whether this process writes. Where ranks have shards of the weights, all of them call it, and one
   * writes. Default true.
   */
  readonly write?: boolean;
}

const SCHEMA = z.object({
  type: z.enum(['F32', 'F16', 'Q8_0', 'Q4_0']).default('Q8_0'),
  write: z.boolean().default(true),
});

/** Values that are encoded at a time, if a row has fewer. */
const CHUNK_VALUES = 1024 * 1024;

/**
 * Writes a Llama as one GGUF file, which llama.cpp and {@link loadPretrained} read. The blocks are those
 * of llama.cpp's `gguf` package, bit for bit. The file has no tokenizer. An existing file is replaced once
 * the new one is whole.
 *
 * On several ranks one of them calls it, or all with `write: accelerator.isMainProcess`.
 *
 * @param model From `llama` or `loadPretrained`.
 * @param path The file. {@link loadPretrained} wants its name to end with `.gguf`.
 * @throws AccError `ACC_NOT_OF_HUB` for other models, `ACC_MODEL_UNSUPPORTED` for GPT-2,
 * `ACC_LORA_PRESENT` for a model with adapters, `ACC_QUANTIZE_SHAPE` for rows that blocks do not divide,
 * `ACC_QUANTIZE_VALUES` for values that are not finite in the file, `ACC_UNKNOWN_OPTION`,
 * `ACC_INVALID_OPTION`.
 */
export async function saveGguf(
  model: LayersModel,
  path: string,
  options: SaveGgufOptions = {},
): Promise<void> {
  const { type, write } = parseOptions('saveGguf', SCHEMA, options);
  const config = configOf(model, 'saveGguf');
  if (config.model_type !== 'llama') throw notLlama(config.model_type);
  requireNoAdapters(model, 'saveGguf');
  const { state } = kernelLayerOf(getBackend(), backend());
  const tensors = tensorsOf(model, config, { type: WRITTEN_TYPES[type], state });
  for (const tensor of tensors) requireWholeBlocks(tensor, type);
  if (!write) return await openAll(tensors);
  const header = encodeGgufHeader(
    metadataOf(config, WRITTEN_TYPES[type].fileType),
    tensors.map(({ name, shape, type: { number }, byteLength }) => ({
      name,
      shape,
      type: number,
      byteLength,
    })),
  );
  const [folder, name] = placeOf(path);
  await locationOf(folder, undefined).storage.put(name, contentOf(header, tensors));
}

/** Ranks that do not write gather and refuse what the one that writes does. */
async function openAll(tensors: readonly Tensor[]): Promise<void> {
  for (const tensor of tensors) {
    using held = await tensor.open();
    requireFinite(tensor, floatsOf(held));
  }
}

const floatsOf = ({ bytes }: TensorBytes): Float32Array =>
  new Float32Array(bytes.buffer, bytes.byteOffset, bytes.byteLength / 4);

interface Tensor {
  readonly name: string;
  readonly shape: readonly number[];
  readonly type: WrittenType;
  readonly byteLength: number;
  /** The row in {@link open} of each row in the file. Undefined: the same. */
  readonly rowOf: ((row: number) => number) | undefined;
  /** The float32 values. The caller disposes them. */
  open(): Promise<TensorBytes>;
}

interface Writing {
  /** Of matrices. */
  readonly type: WrittenType;
  readonly state: StateLayer;
}

function tensorsOf(model: LayersModel, config: ResolvedLlamaConfig, { type, state }: Writing): Tensor[] {
  const weights = model.weights.map((weight): Tensor => {
    const { name, permute } = hubWeight(weight.originalName, config);
    const here = weight.shape as number[];
    const shape = permute ? permute.map((dim) => here[dim]!) : here;
    return {
      ...placed(ggufNameOf(name), shape, shape.length > 1 ? type : WRITTEN_TYPES.F32),
      rowOf: rowOrder(name, shape[0]!, config),
      open: () => storedBytes(weight.read(), permute, state),
    };
  });
  const factors = ropeFactorsOf(config);
  if (!factors) return weights;
  const bytes = new Uint8Array(factors.buffer, factors.byteOffset, factors.byteLength);
  const open = () => Promise.resolve({ bytes, dispose() {}, [Symbol.dispose]() {} });
  return [
    ...weights,
    { ...placed(ROPE_FACTORS, [factors.length], WRITTEN_TYPES.F32), rowOf: undefined, open },
  ];
}

function placed(name: string, shape: readonly number[], type: WrittenType) {
  const size = shape.reduce((product, dim) => product * dim, 1);
  return { name, shape, type, byteLength: (size / type.values) * type.bytes };
}

function requireWholeBlocks({ name, shape, type }: Tensor, typeName: string): void {
  if (shape.at(-1)! % type.values === 0) return;
  throw new AccError(
    'ACC_QUANTIZE_SHAPE',
    `'${name}' has rows of ${shape.at(-1)} values, which blocks of ${typeName} with ${type.values} do not divide.`,
    { help: "Write type: 'F16' or 'F32', which have no blocks.", details: { name, shape } },
  );
}

async function* contentOf(header: Uint8Array, tensors: readonly Tensor[]): AsyncGenerator<Uint8Array> {
  yield header;
  for (const tensor of tensors) {
    const held = await tensor.open();
    try {
      yield* blocksOf(tensor, floatsOf(held));
    } finally {
      held.dispose();
    }
    yield padding(tensor.byteLength);
  }
}

/** The tensor as the file has it, some rows at a time. */
function* blocksOf(tensor: Tensor, values: Float32Array): Generator<Uint8Array> {
  const { shape, type, rowOf } = tensor;
  const rows = shape[0]!;
  const width = values.length / rows;
  const most = Math.max(1, Math.floor(CHUNK_VALUES / width));
  for (let from = 0; from < rows; from += most) {
    const count = Math.min(most, rows - from);
    const some = new Float32Array(count * width);
    for (let row = 0; row < count; row++) {
      const at = (rowOf ? rowOf(from + row) : from + row) * width;
      some.set(values.subarray(at, at + width), row * width);
    }
    requireFinite(tensor, some);
    const blocks = new Uint8Array((some.length / type.values) * type.bytes);
    type.encode(some, blocks);
    yield blocks;
  }
}

/** The largest float16. Scales of blocks are float16, and at most an eighth of their values. */
const LARGEST_HALF = 65_504;

function requireFinite({ name, type }: Tensor, values: Float32Array): void {
  const limit = type === WRITTEN_TYPES.F32 ? Number.MAX_VALUE : LARGEST_HALF;
  if (values.every((value) => Math.abs(value) <= limit)) return;
  throw new AccError(
    'ACC_QUANTIZE_VALUES',
    `'${name}' has values that are NaN, infinite, or larger than a float16 can be.`,
    {
      help: "Load or train weights that are finite. Large ones can be written with type: 'F32'.",
      details: { name },
    },
  );
}

function notLlama(type: string): AccError {
  return new AccError(
    'ACC_MODEL_UNSUPPORTED',
    `saveGguf writes Llama models. This one is of the type '${type}'.`,
    {
      help: 'Write it with savePretrained, which transformers and loadPretrained read.',
      details: { model_type: type },
    },
  );
}
