export { attentionBlock, attentionBlockGradient } from './attention-block.js';
export {
  divideHeads,
  divideSequences,
  onFullSequences,
  sequenceOffset,
  type Attend,
  type AttendLocalHeads,
  type DividedSequences,
} from './divided-sequences.js';
export { dropout, type DropoutOptions, type DropoutPlace } from './dropout.js';
export { FUNCTION_GRADIENTS, FUNCTION_KERNELS } from './functions.js';
export { gelu, type GeluOptions } from './gelu.js';
export { layerNorm, type LayerNormOptions } from './layer-norm.js';
export { linearCrossEntropy, type LinearCrossEntropyOptions } from './linear-cross-entropy.js';
export { rmsNorm, type RmsNormOptions } from './rms-norm.js';
export { rotaryEmbedding, type RotaryOptions } from './rotary-embedding.js';
export {
  attendLocally,
  scaledDotProductAttention,
  type AttentionOptions,
} from './scaled-dot-product-attention.js';
