import { backend, getBackend } from '@tensorflow/tfjs-core';
import type { LayersModel } from '@tensorflow/tfjs-layers';
import { locationOf, openAsWritten, writeWeights, type WrittenWeight } from '@acc/checkpoint';
import { checkKeys } from '@acc/contract';
import { kernelLayerOf } from '@acc/kernels';
import { requireNoAdapters } from '../lora/adapted-layers.js';
import { configOf } from '../models/description.js';
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
}

/**
 * Writes a model as the Hugging Face Hub has it: config.json and model.safetensors, float32. So
 * `transformers` and {@link loadPretrained} read it. Existing files of weights are replaced.
 *
 * On several ranks one of them calls it, or all with `write: accelerator.isMainProcess`.
 *
 * @param model From `gpt2`, `llama` or `loadPretrained`.
 * @throws AccError `ACC_NOT_OF_HUB` for other models, `ACC_LORA_PRESENT` for a model with adapters,
 * `ACC_UNKNOWN_OPTION`, `ACC_INVALID_OPTION`.
 */
export async function savePretrained(
  model: LayersModel,
  folder: string,
  options: SavePretrainedOptions = {},
): Promise<void> {
  checkKeys('savePretrained', options, ['maxShardSize', 'write']);
  const { write = true, ...others } = options;
  const config = configOf(model, 'savePretrained');
  requireNoAdapters(model, 'savePretrained');
  const { state } = kernelLayerOf(getBackend(), backend());
  const weights = model.weights.map((weight): WrittenWeight => {
    const { name, permute } = hubWeight(weight.originalName, config);
    const shape = weight.shape as number[];
    // The only permutation exchanges two dims.
    const stored = permute ? permute.map((dim) => shape[dim]!) : shape;
    return { name, dtype: 'float32', shape: stored, open: () => storedBytes(weight.read(), permute, state) };
  });
  if (!write) return openAsWritten(weights, others);
  await writeWeights(locationOf(folder, undefined), weights, others, state);
  await writeConfig(folder, config);
}
