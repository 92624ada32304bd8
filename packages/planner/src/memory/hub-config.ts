import { AccError, showValue } from '@acc/contract';
import { MOST_LAYERS, type Architecture } from './architecture.js';

type Config = Readonly<Record<string, unknown>>;

/** The kinds of models, by `model_type` in config.json. */
const KINDS: Readonly<Record<string, (config: Config, where: string, instead: string) => Architecture>> = {
  gpt2: readGpt2,
  llama: readLlama,
  // The same layers; attention reaches less far back, which changes no sizes.
  mistral: readLlama,
};

export const isKnownKind = ({ model_type: kind }: Config): boolean =>
  typeof kind === 'string' && Object.hasOwn(KINDS, kind);

/**
 * The sizes in a config.json of the Hugging Face Hub. Absent sizes have the defaults of
 * `transformers`, which leaves them out of the file in some versions.
 *
 * @param where The file, for messages.
 * @param instead The next step for other models.
 * @throws AccError `ACC_MODEL_UNKNOWN` for another kind of model; `ACC_MODEL_CONFIG_INVALID`.
 */
export function readHubConfig(
  config: Config,
  where: string,
  instead = 'give a safetensors file, or --parameters',
): Architecture {
  if (!isKnownKind(config)) {
    throw new AccError('ACC_MODEL_UNKNOWN', `${where}: model_type is ${showValue(config.model_type)}.`, {
      help: `Known kinds: ${Object.keys(KINDS).join(', ')}. For others, ${instead}.`,
      details: { kind: config.model_type },
    });
  }
  const architecture = KINDS[config.model_type as string]!(config, where, instead);
  if (architecture.layers <= MOST_LAYERS) return architecture;
  throw invalid(where, `it has ${architecture.layers} layers, expected at most ${MOST_LAYERS}`);
}

function readGpt2(config: Config, where: string, instead: string): Architecture {
  if (config.add_cross_attention === true) {
    throw invalid(where, 'add_cross_attention adds parameters that are not known here', {
      help: `Instead, ${instead}.`,
    });
  }
  const size = (name: string, other: string, fallback: number) =>
    sizeOf(config, [name, other], fallback, where);
  const hidden = size('n_embd', 'hidden_size', 768);
  const heads = size('n_head', 'num_attention_heads', 12);
  return {
    kind: 'gpt2',
    layers: size('n_layer', 'num_hidden_layers', 12),
    hidden,
    heads,
    kvHeads: heads,
    headDim: divided(hidden, heads, where),
    intermediate: sizeOf(config, ['n_inner'], 4 * hidden, where),
    vocabulary: sizeOf(config, ['vocab_size'], 50257, where),
    positions: size('n_positions', 'max_position_embeddings', 1024),
    isTied: flagOf(config, 'tie_word_embeddings', true, where),
    hasAttentionBias: true,
    hasMlpBias: true,
  };
}

function readLlama(config: Config, where: string): Architecture {
  const size = (name: string, fallback?: number) => sizeOf(config, [name], fallback, where);
  const hidden = size('hidden_size');
  const heads = size('num_attention_heads');
  const kvHeads = size('num_key_value_heads', heads);
  divided(heads, kvHeads, where);
  return {
    kind: 'llama',
    layers: size('num_hidden_layers'),
    hidden,
    heads,
    kvHeads,
    headDim: config.head_dim == null ? divided(hidden, heads, where) : size('head_dim'),
    intermediate: size('intermediate_size'),
    vocabulary: size('vocab_size'),
    positions: size('max_position_embeddings', 2048),
    isTied: flagOf(config, 'tie_word_embeddings', false, where),
    hasAttentionBias: flagOf(config, 'attention_bias', false, where),
    hasMlpBias: flagOf(config, 'mlp_bias', false, where),
  };
}

/** @param names Names of one size; the first that is present counts. */
function sizeOf(
  config: Config,
  names: readonly string[],
  fallback: number | undefined,
  where: string,
): number {
  const name = names.find((each) => config[each] != null);
  const value = name === undefined ? fallback : config[name];
  if (Number.isSafeInteger(value) && (value as number) > 0) return value as number;
  const problem =
    name === undefined
      ? `${names[0]} is missing`
      : `${name} is ${showValue(value)}, expected a whole number above 0`;
  throw invalid(where, problem, {
    help: "Give the config.json of the model's folder on the Hub, unchanged.",
  });
}

function flagOf(config: Config, name: string, fallback: boolean, where: string): boolean {
  const value = config[name] ?? fallback;
  if (typeof value === 'boolean') return value;
  throw invalid(where, `${name} is ${showValue(value)}, expected true or false`);
}

function divided(full: number, parts: number, where: string): number {
  if (full % parts === 0) return full / parts;
  throw invalid(where, `${full} cannot be divided into ${parts} equal heads`);
}

function invalid(
  where: string,
  problem: string,
  { help = 'Correct the file, or fetch it again.' } = {},
): AccError {
  return new AccError('ACC_MODEL_CONFIG_INVALID', `${where}: ${problem}.`, { help });
}
