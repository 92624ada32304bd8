import { openWeights, type OpenedWeights } from '@acc/checkpoint';
import type { StateLayer } from '@acc/contract';
import { openGguf } from '../gguf/open-gguf.js';
import type { ModelConfig } from '../models/description.js';
import { unsupportedQuantization } from '../packed-files/errors.js';
import { openPacked } from '../packed-files/open-packed.js';
import { readConfig } from './config-file.js';

/** A model in files, of which no weights are read yet. */
export interface OpenedModel {
  readonly config: ModelConfig;
  /** The path of the file that the config is from. */
  readonly described: string;
  readonly weights: OpenedWeights;
}

/** @param path A folder of the Hub, or a GGUF file. @throws AccError As `loadPretrained` says. */
export async function openPretrained(path: string, layer: StateLayer): Promise<OpenedModel> {
  if (path.endsWith('.gguf')) {
    const { config, stored } = await openGguf(path);
    return { config, described: path, weights: { path, stored } };
  }
  const { config, quantization } = await readConfig(path);
  if (quantization && config.model_type !== 'llama') {
    throw unsupportedQuantization(`is for a model of the type '${config.model_type}'; expected 'llama'`);
  }
  const files = await openWeights(path);
  const stored = quantization ? await openPacked(files, quantization, layer) : files;
  return { config, described: `${path}/config.json`, weights: { path, stored } };
}
