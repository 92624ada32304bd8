import type { FusedFunctions } from '@acc/contract';
import type { AccBackend } from '../backend.js';
import { accAttentionBlock } from '../functions/attention-block-kernel.js';
import { attentionFunction, fusedAttrs } from '../functions/attention-kernel.js';
import { runDropout } from '../functions/dropout.js';
import { geluFunction } from '../functions/gelu.js';
import { layerNormCall, layerNormFunction } from '../functions/layer-norm.js';
import { rmsNormFunction } from '../functions/rms-norm.js';
import { runRotary } from '../functions/rotary-embedding.js';

/** Fused functions with one native kernel forward and one backward. */
export function accFunctions(backend: AccBackend): FusedFunctions {
  return {
    scaledDotProductAttention(q, k, v, { mask, isCausal, dropout, scale }) {
      if (dropout > 0) return undefined;
      const inputs = mask ? [q, k, v, mask] : [q, k, v];
      const attrs = fusedAttrs(backend, inputs, { isCausal, scale });
      return attrs && attentionFunction.run(inputs, attrs);
    },
    ...accAttentionBlock(backend),
    layerNorm: (x, gain, bias, settings) => layerNormFunction.run(...layerNormCall(x, gain, bias, settings)),
    rmsNorm: (x, gain, settings) => rmsNormFunction.run(gain ? [x, gain] : [x], settings),
    gelu: (x, approximate) => geluFunction.run([x], { approximate }),
    rotaryEmbedding: runRotary,
    dropout: runDropout,
  };
}
