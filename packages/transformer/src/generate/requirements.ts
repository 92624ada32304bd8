import type { LayersModel } from '@tensorflow/tfjs-layers';
import { AccError } from '@acc/contract';
import { nestedLayers } from '@acc/tfjs-internals';
import { PositionEmbedding } from '../layers/embeddings.js';
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
