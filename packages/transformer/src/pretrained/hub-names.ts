import type { ModelConfig } from '../models/description.js';

/** How the Hub's files name and store a weight. */
export interface HubWeight {
  readonly name: string;
  /** The permutation of the stored dims that gives those of the weight. */
  readonly permute: readonly number[] | undefined;
}

interface Naming {
  /** The name of a layer's module. */
  moduleOf(layer: string): string;
  /** Whether matrices of dense layers are stored transposed, as PyTorch's Linear has them. */
  readonly isTransposed: boolean;
  /** The prefix of names, which some files lack. */
  readonly prefix: string;
  /** Tensors of files that hold no weights, or those of another tensor. */
  isLeftOut(stored: string, config: ModelConfig): boolean;
}

const LEAVES: Readonly<Record<string, string>> = {
  kernel: 'weight',
  embeddings: 'weight',
  gamma: 'weight',
  beta: 'bias',
  bias: 'bias',
};

const LLAMA_ROLES: Readonly<Record<string, string>> = {
  attn: 'self_attn',
  ln_1: 'input_layernorm',
  ln_2: 'post_attention_layernorm',
};

const NAMINGS: Readonly<Record<ModelConfig['model_type'], Naming>> = {
  gpt2: {
    moduleOf: (layer) => `transformer.${layer.replaceAll('/', '.')}`,
    // GPT-2's Conv1D has [inputs, outputs].
    isTransposed: false,
    prefix: 'transformer.',
    // Constants of attention, and the matrix that the output shares with the embedding.
    isLeftOut: (stored) => /(^|\.)h\.\d+\.attn\.(masked_)?bias$/.test(stored) || stored === 'lm_head.weight',
  },
  llama: {
    moduleOf: (layer) => {
      const module = layer
        .split('/')
        .map((role) => LLAMA_ROLES[role] ?? role)
        .join('.');
      return module.startsWith('lm_head') ? module : `model.${module}`;
    },
    isTransposed: true,
    prefix: 'model.',
    isLeftOut: (stored, { tie_word_embeddings: isTied }) =>
      stored.endsWith('.rotary_emb.inv_freq') || (isTied && stored === 'lm_head.weight'),
  },
};

/** The name of a layer in the Hub's files, and in adapters of PEFT. */
export function hubModule(layer: string, config: ModelConfig): string {
  return NAMINGS[config.model_type].moduleOf(layer);
}

/** @param weight A name as of `model.weights[i].originalName`. */
export function hubWeight(weight: string, config: ModelConfig): HubWeight {
  const { isTransposed } = NAMINGS[config.model_type];
  const end = weight.lastIndexOf('/');
  const leaf = weight.slice(end + 1);
  const name = `${hubModule(weight.slice(0, end), config)}.${LEAVES[leaf]!}`;
  return { name, permute: leaf === 'kernel' && isTransposed ? [1, 0] : undefined };
}

/**
 * The name that {@link hubWeight} gives for a stored tensor, or the name itself. Undefined: the tensor
 * is left out.
 */
export function wholeName(stored: string, known: { has(name: string): boolean }, config: ModelConfig) {
  const { prefix, isLeftOut } = NAMINGS[config.model_type];
  if (known.has(stored)) return stored;
  if (isLeftOut(stored, config)) return undefined;
  return known.has(prefix + stored) ? prefix + stored : stored;
}
