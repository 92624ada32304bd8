import { AccError, parseOptions } from '@acc/contract';
import type { ModelConfig } from '../models/description.js';
import { gpt2Schema } from '../models/gpt2-config.js';
import { llamaSchema } from '../models/llama-config.js';
import { readJson, writeJson } from './json-file.js';

const CONFIG = 'config.json';
const SCHEMAS = { gpt2: gpt2Schema, llama: llamaSchema };
const ARCHITECTURES = { gpt2: 'GPT2LMHeadModel', llama: 'LlamaForCausalLM' };

/**
 * Reads a folder's config.json. Of its fields, only those that numbers depend on are read.
 *
 * @throws AccError `ACC_MODEL_CONFIG_INVALID`, `ACC_MODEL_UNSUPPORTED`, `ACC_INVALID_OPTION`.
 */
export async function readConfig(folder: string): Promise<ModelConfig> {
  const json = await readJson(folder, CONFIG);
  const type = json['model_type'];
  if (type !== 'gpt2' && type !== 'llama') throw unsupported(folder, type);
  const schema = SCHEMAS[type];
  const known = Object.entries(json).filter(([key]) => Object.hasOwn(schema.shape, key));
  return parseOptions<ModelConfig>(`${folder}/${CONFIG}`, schema as never, Object.fromEntries(known));
}

/** Writes a config.json that `transformers` reads. */
export function writeConfig(folder: string, config: ModelConfig): Promise<void> {
  const architectures = [ARCHITECTURES[config.model_type]];
  return writeJson(folder, CONFIG, { architectures, ...config, dtype: 'float32' });
}

function unsupported(folder: string, type: unknown): AccError {
  return new AccError(
    'ACC_MODEL_UNSUPPORTED',
    `${folder}/${CONFIG} describes a model of the type ${JSON.stringify(type)}; expected 'gpt2' or 'llama'.`,
    { help: 'Build other models from the layers of @acc/transformer.', details: { model_type: type } },
  );
}
