import { serialization } from '@tensorflow/tfjs-core';
import { loraDenseClass } from '../lora/lora-dense.js';
import { PositionEmbedding, TokenEmbedding } from './embeddings.js';
import { FeedForward, SwiGlu } from './feed-forward.js';
import { Moe } from '../moe/moe.js';
import { MultiHeadAttention } from './multi-head-attention.js';
import { LastDimNormalization, RmsNormalization } from './norms.js';
import { RotaryEmbedding } from './rotary-embedding.js';
import { TransformerBlock } from './transformer-block.js';

const CLASSES = [
  FeedForward,
  LastDimNormalization,
  Moe,
  MultiHeadAttention,
  PositionEmbedding,
  RmsNormalization,
  RotaryEmbedding,
  SwiGlu,
  TokenEmbedding,
  TransformerBlock,
];

/**
 * Registers the layers of this package with tfjs, so that `tf.loadLayersModel` knows them. The
 * functions that make layers and models call it. May be called again.
 */
export function registerLayers(): void {
  for (const layer of [...CLASSES, loraDenseClass()]) serialization.registerClass(layer as never);
}
