import { backend, getBackend, transpose, type Tensor } from '@tensorflow/tfjs-core';
import type { LayersModel } from '@tensorflow/tfjs-layers';
import { locationOf, writeWeights, type WrittenWeight } from '@acc/checkpoint';
import { checkKeys, type StateLayer } from '@acc/contract';
import { kernelLayerOf } from '@acc/kernels';
import { requireNoAdapters } from '../lora/adapted-layers.js';
import { configOf } from '../models/description.js';
import { writeConfig } from './config-file.js';
import { hubWeight } from './hub-names.js';

export interface SavePretrainedOptions {
  /** The most bytes of tensors in a file. Default: one file. */
  readonly maxShardSize?: number;
}

/**
 * Writes a model as the Hugging Face Hub has it: config.json and model.safetensors, float32. So
 * `transformers` and {@link loadPretrained} read it. Existing files of weights are replaced.
 *
 * On several ranks one of them calls it. If the strategy has sharded the weights, save with
 * `accelerator.saveModel`.
 *
 * @param model From `gpt2`, `llama` or `loadPretrained`.
 * @throws AccError `ACC_MODEL_UNKNOWN` for other models, `ACC_LORA_PRESENT` for a model with adapters,
 * `ACC_UNKNOWN_OPTION`, `ACC_INVALID_OPTION`.
 */
export async function savePretrained(
  model: LayersModel,
  folder: string,
  options: SavePretrainedOptions = {},
): Promise<void> {
  checkKeys('savePretrained', options, ['maxShardSize']);
  const config = configOf(model, 'savePretrained');
  requireNoAdapters(model, 'savePretrained');
  const { state } = kernelLayerOf(getBackend(), backend());
  const weights = model.weights.map((weight): WrittenWeight => {
    const { name, permute } = hubWeight(weight.originalName, config);
    const shape = weight.shape as number[];
    // The only permutation exchanges two dims.
    const stored = permute ? permute.map((dim) => shape[dim]!) : shape;
    return { name, dtype: 'float32', shape: stored, open: () => bytesOf(weight.read(), permute, state) };
  });
  await writeWeights(locationOf(folder, undefined), weights, options, state);
  await writeConfig(folder, config);
}

async function bytesOf(value: Tensor, permute: readonly number[] | undefined, state: StateLayer) {
  const stored = permute ? transpose(value, [...permute]) : value.clone();
  try {
    return await state.bytesOf(stored);
  } finally {
    stored.dispose();
  }
}
