import * as z from 'zod';
import { AccError, parseOptions } from '@acc/contract';
import { readJson, writeJson } from '../pretrained/json-file.js';
import type { LoraSettings } from './lora-dense.js';

/** The names that PEFT gives to the files of an adapter. */
export const ADAPTER_WEIGHTS = 'adapter_model.safetensors';
const CONFIG = 'adapter_config.json';

const schema = z.object({
  r: z.number().int().positive(),
  lora_alpha: z.number().positive().default(8),
  lora_dropout: z.number().min(0).lt(1).default(0),
});

/** Fields of PEFT that change what an adapter computes, with the values that change nothing. */
const UNSUPPORTED: Readonly<Record<string, readonly unknown[]>> = {
  peft_type: ['LORA'],
  bias: ['none', undefined],
  use_dora: [false, undefined],
  use_rslora: [false, undefined],
  lora_bias: [false, undefined],
  modules_to_save: [null, undefined],
  layer_replication: [null, undefined],
  trainable_token_indices: [null, undefined],
};
const PATTERNS = ['rank_pattern', 'alpha_pattern'];

/** @throws AccError `ACC_MODEL_CONFIG_INVALID`, `ACC_ADAPTER_UNSUPPORTED`, `ACC_INVALID_OPTION`. */
export async function readAdapterConfig(folder: string): Promise<LoraSettings> {
  const json = await readJson(folder, CONFIG);
  for (const [key, plain] of Object.entries(UNSUPPORTED)) {
    if (!plain.includes(json[key])) throw unsupported(folder, key, json[key]);
  }
  for (const key of PATTERNS) {
    if (Object.keys(json[key] ?? {}).length > 0) throw unsupported(folder, key, json[key]);
  }
  const known = Object.entries(json).filter(([key]) => Object.hasOwn(schema.shape, key));
  const config = parseOptions(`${folder}/${CONFIG}`, schema, Object.fromEntries(known));
  return { rank: config.r, alpha: config.lora_alpha, dropout: config.lora_dropout };
}

/** @param isConv1D Whether the base has GPT-2's layers, which store matrices the other way round. */
export function writeAdapterConfig(
  folder: string,
  { rank, alpha, dropout }: LoraSettings,
  modules: readonly string[],
  isConv1D: boolean,
): Promise<void> {
  return writeJson(folder, CONFIG, {
    peft_type: 'LORA',
    task_type: 'CAUSAL_LM',
    base_model_name_or_path: null,
    r: rank,
    lora_alpha: alpha,
    lora_dropout: dropout,
    target_modules: modules,
    bias: 'none',
    fan_in_fan_out: isConv1D,
    inference_mode: true,
  });
}

function unsupported(folder: string, key: string, value: unknown): AccError {
  return new AccError(
    'ACC_ADAPTER_UNSUPPORTED',
    `${folder}/${CONFIG}: ${key} is ${JSON.stringify(value)}, which changes what the adapter computes.`,
    {
      help: 'Merge the adapter into its model with PEFT, and load the model with loadPretrained.',
      details: { key },
    },
  );
}
