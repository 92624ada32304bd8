import { backend, getBackend } from '@tensorflow/tfjs-core';
import type { LayersModel } from '@tensorflow/tfjs-layers';
import { locationOf, openAsWritten, writeWeights, type WrittenWeight } from '@acc/checkpoint';
import { AccError, parseOptions } from '@acc/contract';
import { kernelLayerOf } from '@acc/kernels';
import * as z from 'zod';
import { requireNoAdapters } from '../lora/adapted-layers.js';
import { configOf, type ModelConfig } from '../models/description.js';
import { packedConfig, packedWeights, type PackedFormat } from '../packed-files/write-packed.js';
import { writeConfig } from './config-file.js';
import { hubWeight } from './hub-names.js';
import { storedBytes } from './values.js';

export interface SavePretrainedOptions {
  /** The most bytes of tensors in a file. Default: one file. */
  readonly maxShardSize?: number;
  /**
   * Whether this process writes. Where ranks have shards of the weights, all of them call it, and one
   * writes. Default true.
   */
  readonly write?: boolean;
  /**
   * Packs the kernels in the layers of a Llama, in the layout `pack-quantized` of compressed-tensors, which
   * vLLM and `transformers` read. Default: all weights are float32.
   */
  readonly weights?: 'int8' | 'int4';
  /**
   * The values that share a scale: those of an output channel, or groups of them. Default `row` for int8,
   * `{ group: 128 }` for int4.
   */
  readonly granularity?: 'row' | { readonly group: 32 | 64 | 128 };
}

const SCHEMA = z.object({
  maxShardSize: z.number().or(z.literal(Infinity)).optional(),
  write: z.boolean().default(true),
  weights: z.enum(['int8', 'int4']).optional(),
  granularity: z
    .union([
      z.literal('row'),
      z.strictObject({ group: z.union([z.literal(32), z.literal(64), z.literal(128)]) }),
    ])
    .optional(),
});

const GRANULARITY = { int8: 'row', int4: { group: 128 } } as const;

/**
 * Writes a model as the Hugging Face Hub has it: config.json and model.safetensors. So
 * `transformers` and {@link loadPretrained} read it. Existing files of weights are replaced.
 *
 * On several ranks one of them calls it, or all with `write: accelerator.isMainProcess`.
 *
 * @param model From `gpt2`, `llama` or `loadPretrained`.
 * @throws AccError `ACC_NOT_OF_HUB` for other models, `ACC_LORA_PRESENT` for a model with adapters,
 * `ACC_QUANTIZE_SHAPE` and `ACC_QUANTIZE_VALUES` for a weight that cannot be packed, `ACC_UNKNOWN_OPTION`,
 * `ACC_INVALID_OPTION`.
 */
export async function savePretrained(
  model: LayersModel,
  folder: string,
  options: SavePretrainedOptions = {},
): Promise<void> {
  const { write, maxShardSize, ...packing } = parseOptions('savePretrained', SCHEMA, options);
  const config = configOf(model, 'savePretrained');
  const format = formatOf(packing, config);
  requireNoAdapters(model, 'savePretrained');
  const { state } = kernelLayerOf(getBackend(), backend());
  const weights = model.weights.flatMap((weight): WrittenWeight[] => {
    const { name, permute } = hubWeight(weight.originalName, config);
    const shape = weight.shape as number[];
    // The only permutation exchanges two dims.
    const stored = permute ? permute.map((dim) => shape[dim]!) : shape;
    const open = () => storedBytes(weight.read(), permute, state);
    const plain: WrittenWeight = { name, dtype: 'float32', shape: stored, open };
    return format && PACKED.test(name) ? packedWeights(plain, format) : [plain];
  });
  if (!write) return openAsWritten(weights, { maxShardSize });
  await writeWeights(locationOf(folder, undefined), weights, { maxShardSize }, state);
  await writeConfig(folder, config, format && packedConfig(format));
}

/** The kernels of Llama's layers, which are PyTorch's Linear. */
const PACKED = /^model\.layers\.\d+\.(?:self_attn|mlp)\.\w+_proj\.weight$/;

function formatOf(
  { weights, granularity }: Pick<z.output<typeof SCHEMA>, 'weights' | 'granularity'>,
  { model_type: type }: ModelConfig,
): PackedFormat | undefined {
  if (weights && type === 'llama') return { weights, granularity: granularity ?? GRANULARITY[weights] };
  if (!weights && granularity === undefined) return undefined;
  throw new AccError(
    'ACC_INVALID_OPTION',
    weights
      ? `savePretrained packs weights of Llama models. This one is of the type '${type}'.`
      : 'savePretrained: granularity is for packed weights, and weights is not given.',
    { help: weights ? 'Leave weights out.' : "Write weights: 'int8' or 'int4', or leave granularity out." },
  );
}
