import { locationOf } from '@acc/checkpoint';
import { AccError, isAccError, isRecord, parseOptions } from '@acc/contract';
import type { ModelConfig } from '../models/description.js';
import { gpt2Schema } from '../models/gpt2-config.js';
import { llamaSchema } from '../models/llama-config.js';

const CONFIG = 'config.json';
const SCHEMAS = { gpt2: gpt2Schema, llama: llamaSchema };
const ARCHITECTURES = { gpt2: 'GPT2LMHeadModel', llama: 'LlamaForCausalLM' };

/**
 * Reads a folder's config.json. Of its fields, only those that numbers depend on are read.
 *
 * @throws AccError `ACC_CONFIG_INVALID`, `ACC_MODEL_UNSUPPORTED`, `ACC_INVALID_OPTION`.
 */
export async function readConfig(folder: string): Promise<ModelConfig> {
  const json = await readJson(folder);
  const type = json['model_type'];
  if (type !== 'gpt2' && type !== 'llama') throw unsupported(folder, type);
  const schema = SCHEMAS[type];
  const known = Object.entries(json).filter(([key]) => Object.hasOwn(schema.shape, key));
  return parseOptions<ModelConfig>(`${folder}/${CONFIG}`, schema as never, Object.fromEntries(known));
}

/** Writes a config.json that `transformers` reads. */
export async function writeConfig(folder: string, config: ModelConfig): Promise<void> {
  const { storage, prefix } = locationOf(folder, undefined);
  const json = { architectures: [ARCHITECTURES[config.model_type]], ...config, torch_dtype: 'float32' };
  await storage.put(prefix + CONFIG, new TextEncoder().encode(`${JSON.stringify(json, null, 2)}\n`));
}

async function readJson(folder: string): Promise<Record<string, unknown>> {
  const { storage, prefix } = locationOf(folder, undefined);
  try {
    const json = JSON.parse(new TextDecoder().decode(await storage.get(prefix + CONFIG))) as unknown;
    if (isRecord(json)) return json;
  } catch (cause) {
    const isMissing = isAccError(cause, 'ACC_STORAGE_NOT_FOUND');
    if (!isMissing && !(cause instanceof SyntaxError)) throw cause;
    throw invalid(folder, isMissing ? 'does not exist' : 'is not JSON', cause);
  }
  throw invalid(folder, 'is not an object');
}

function invalid(folder: string, problem: string, cause?: unknown): AccError {
  return new AccError('ACC_CONFIG_INVALID', `${folder}/${CONFIG} ${problem}.`, {
    help: 'Give a folder with the files of a model of the Hub: config.json and model.safetensors.',
    cause,
  });
}

function unsupported(folder: string, type: unknown): AccError {
  return new AccError(
    'ACC_MODEL_UNSUPPORTED',
    `${folder}/${CONFIG} describes a model of the type ${JSON.stringify(type)}; expected 'gpt2' or 'llama'.`,
    { help: 'Build other models from the layers of @acc/transformer.', details: { model_type: type } },
  );
}
