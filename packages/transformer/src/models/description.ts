import type { LayersModel } from '@tensorflow/tfjs-layers';
import { AccError } from '@acc/contract';
import type { ResolvedGpt2Config } from './gpt2-config.js';
import type { ResolvedLlamaConfig } from './llama-config.js';

export type ModelConfig = ResolvedGpt2Config | ResolvedLlamaConfig;

const KEY = 'transformer';

/** Writes the config into the model, so that `model.save` saves it. */
export function describe(model: LayersModel, config: ModelConfig): LayersModel {
  model.setUserDefinedMetadata({ [KEY]: config });
  return model;
}

/** The config that a model was made of, if it is from `gpt2` or `llama`. */
export function configOrUndefined(model: LayersModel): ModelConfig | undefined {
  return (model.getUserDefinedMetadata() as { [KEY]?: ModelConfig } | undefined)?.[KEY];
}

/**
 * The config that a model was made of.
 *
 * @throws AccError `ACC_NOT_OF_HUB` for models that `gpt2` and `llama` have not made.
 */
export function configOf(model: LayersModel, caller: string): ModelConfig {
  const config = configOrUndefined(model);
  if (config) return config;
  throw new AccError('ACC_NOT_OF_HUB', `${caller} needs a model that gpt2, llama or loadPretrained made.`, {
    help: 'Save other models with model.save or accelerator.saveModel.',
  });
}
