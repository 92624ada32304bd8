import { AccError } from '@acc/contract';
import type { ModelConfig } from '../models/description.js';
import type { OpenedModel } from './open-pretrained.js';

/** Below these, the message with all names that are missing is more useful. */
const SMALL = { layers: 64, parameters: 16 * 2 ** 20 };

/**
 * Refuses a config that describes a much larger model than the files have weights for, before the
 * model is built.
 *
 * @throws AccError `ACC_WEIGHTS_MISMATCH`.
 */
export function requireWeights({ config, described, weights: { stored } }: OpenedModel): void {
  const elements = stored.reduce(
    (sum, { shape }) => sum + shape.reduce((count, length) => count * length, 1),
    0,
  );
  const { layers, parameters } = sizeOf(config);
  // Each layer has several tensors.
  if (layers <= stored.length + SMALL.layers && parameters <= 2 * elements + SMALL.parameters) return;
  throw new AccError(
    'ACC_WEIGHTS_MISMATCH',
    `${described} describes a model of ${layers} layers and at least ${parameters} parameters, but the files have ${stored.length} tensors with ${elements} elements.`,
    { help: 'The config and the weights belong to different models, or a file is missing.' },
  );
}

/** The layers of a model, and the elements of its embeddings and matrices. */
function sizeOf(config: ModelConfig): { readonly layers: number; readonly parameters: number } {
  if (config.model_type === 'gpt2') {
    const { n_embd: width, n_inner, n_layer: layers, vocab_size, n_positions } = config;
    const layer = 4 * width * width + 2 * width * (n_inner ?? 4 * width);
    return { layers, parameters: (vocab_size + n_positions) * width + layers * layer };
  }
  const { hidden_size: width, num_attention_heads: heads, num_hidden_layers: layers } = config;
  const headWidth = config.head_dim ?? width / heads;
  const attention = 2 * width * headWidth * (heads + (config.num_key_value_heads ?? heads));
  const layer = attention + 3 * width * config.intermediate_size;
  const tables = config.tie_word_embeddings ? 1 : 2;
  return { layers, parameters: tables * config.vocab_size * width + layers * layer };
}
