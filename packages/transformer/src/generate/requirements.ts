import type { Tensor2D } from '@tensorflow/tfjs-core';
import type { LayersModel } from '@tensorflow/tfjs-layers';
import { AccError } from '@acc/contract';
import { nestedLayers } from '@acc/tfjs-internals';
import { PositionEmbedding, TokenEmbedding } from '../layers/embeddings.js';
import { MultiHeadAttention } from '../layers/multi-head-attention.js';

/** @throws AccError `ACC_CACHE_UNSUPPORTED`. */
export function requireCacheable(model: LayersModel): void {
  const layers = [...nestedLayers(model.layers)];
  const attention = layers.filter((layer) => layer instanceof MultiHeadAttention);
  const open = attention.find(({ isCausal }) => !isCausal);
  if (attention.length > 0 && !open) return;
  throw new AccError(
    'ACC_CACHE_UNSUPPORTED',
    open
      ? `generate: positions see later ones in '${open.name}', so keys and values cannot be kept.`
      : 'generate: the model has no attention layers of @acc/transformer, which keep keys and values.',
    {
      help: open
        ? 'Make the layer with causal: true.'
        : 'Pass useCache: false, which computes all positions in each step.',
    },
  );
}

/** @throws AccError `ACC_SEQUENCE_TOO_LONG`. */
export function requireRoom(model: LayersModel, length: number): void {
  for (const layer of nestedLayers(model.layers)) {
    if (!(layer instanceof PositionEmbedding) || length <= layer.positions) continue;
    throw new AccError(
      'ACC_SEQUENCE_TOO_LONG',
      `generate: prompt and new tokens take ${length} positions, but '${layer.name}' knows ${layer.positions}.`,
      { help: 'Shorten the prompt, or lower maxNewTokens.', details: { length, positions: layer.positions } },
    );
  }
}

/**
 * Compares prompts and `eosToken` with the vocabulary of the model's token embeddings. A model without
 * any is not checked.
 *
 * @throws AccError `ACC_INVALID_ARGUMENT`.
 */
export function requireVocabulary(model: LayersModel, prompt: Tensor2D, eosToken: number | undefined): void {
  const embeddings = [...nestedLayers(model.layers)].filter((layer) => layer instanceof TokenEmbedding);
  if (embeddings.length === 0) return;
  const known = Math.max(...embeddings.map(({ vocabularySize }) => vocabularySize));
  const isWrong = (token: number) => token < 0 || token >= known;
  const isEnd = eosToken !== undefined && isWrong(eosToken);
  const wrong = isEnd ? eosToken : prompt.dataSync().find(isWrong);
  if (wrong === undefined) return;
  throw new AccError(
    'ACC_INVALID_ARGUMENT',
    `generate: ${isEnd ? 'eosToken ' : ''}${wrong} is not a token of '${embeddings[0]!.name}'.`,
    {
      help: `Its tokens are whole numbers from 0 to ${known - 1}.`,
      details: { token: wrong, vocabularySize: known },
    },
  );
}
