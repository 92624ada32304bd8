import { AccError, isRecord, parseOptions } from '@acc/contract';
import type { ModelConfig } from '../models/description.js';
import { gpt2Schema } from '../models/gpt2-config.js';
import { llamaSchema } from '../models/llama-config.js';
import { readJson, writeJson } from './json-file.js';

const CONFIG = 'config.json';
const SCHEMAS = { gpt2: gpt2Schema, llama: llamaSchema };
const ARCHITECTURES = { gpt2: 'GPT2LMHeadModel', llama: 'LlamaForCausalLM' };

/** The contents of a config.json. */
export interface ConfigFile {
  readonly config: ModelConfig;
  /** How weights are packed in the files. Undefined: they are not. */
  readonly quantization: Readonly<Record<string, unknown>> | undefined;
}

/**
 * Reads a folder's config.json. Of its fields, only those that numbers depend on are read.
 *
 * @throws AccError `ACC_MODEL_CONFIG_INVALID`, `ACC_MODEL_UNSUPPORTED`, `ACC_INVALID_OPTION`.
 */
export async function readConfig(folder: string): Promise<ConfigFile> {
  const json = await readJson(folder, CONFIG);
  const type = json['model_type'];
  if (type !== 'gpt2' && type !== 'llama') throw unsupported(folder, type);
  const schema = SCHEMAS[type];
  const known = Object.entries(json).filter(([key]) => Object.hasOwn(schema.shape, key));
  const path = `${folder}/${CONFIG}`;
  const config = parseOptions<ModelConfig>(path, schema as never, Object.fromEntries(known));
  const quantization = json['quantization_config'] ?? undefined;
  if (quantization === undefined || isRecord(quantization)) return { config, quantization };
  throw new AccError('ACC_MODEL_CONFIG_INVALID', `${path} has a quantization_config that is no object.`, {
    help: 'Compare the file with the original.',
  });
}

/** Writes a config.json that `transformers` reads. */
export function writeConfig(
  folder: string,
  config: ModelConfig,
  quantization: object | undefined,
): Promise<void> {
  const architectures = [ARCHITECTURES[config.model_type]];
  const packed = quantization && { quantization_config: quantization };
  return writeJson(folder, CONFIG, { architectures, ...config, dtype: 'float32', ...packed });
}

function unsupported(folder: string, type: unknown): AccError {
  return new AccError(
    'ACC_MODEL_UNSUPPORTED',
    `${folder}/${CONFIG} describes a model of the type ${JSON.stringify(type)}; expected 'gpt2' or 'llama'.`,
    { help: 'Build other models from the layers of @acc/transformer.', details: { model_type: type } },
  );
}
