import { vocabularyOf } from '../flops.js';
import type { Model } from '../model.js';
import type { Plan } from '../plan.js';

/**
 * Bytes of activations in a device's memory for one layer and micro-batch (Korthikanti et al.,
 * "Reducing Activation Recomputation in Large Transformer Models", 2022, section 4): for 16 bits
 * sbh(10 + 24/t + 5as/ht), and with sequence parallelism sbh(34 + 5as/h)/t. Numbers of the MLP and of
 * keys and values are taken apart, for models in which they have other widths. A gated model has no
 * dropout.
 */
export function layerActivationBytes(model: Model, plan: Plan, tokens: number): number {
  const { hidden, heads, headDim, kvHeads, intermediate, sequence, kind } = model;
  const { tensor } = plan.mesh;
  const isGated = kind === 'llama';
  const whole = plan.sequenceParallel ? tensor : 1;
  const scale = plan.precision === 'float32' || plan.precision === 'tf32' ? 2 : 1;
  if (plan.recompute === 'full') return (scale * tokens * 2 * hidden) / whole;
  // Inputs of both norms, of the products behind them, and masks of dropout.
  const divided = (hidden * (isGated ? 8 : 10)) / whole;
  // Queries, keys, values, and the input of the projection; the MLP's inputs of activation and product.
  const own = 4 * heads * headDim + 4 * kvHeads * headDim + (isGated ? 6 : 4) * intermediate;
  const scores = plan.flashAttention || plan.recompute === 'selective' ? 0 : 5 * heads * sequence;
  return scale * tokens * (divided + (own + scores) / tensor);
}

/**
 * Bytes beside the layers: dropout behind the embedding on the first rank of a pipeline, which holds
 * them for as many micro-batches as it has passes, and without a pipeline the last norm, the head's
 * input and the logits in float32 (section 4.3 of the same paper).
 */
export function otherActivationBytes(model: Model, plan: Plan, tokens: number): number {
  const { hidden, kind } = model;
  const { tensor, pipeline } = plan.mesh;
  const dropout = kind === 'llama' ? 0 : (tokens * hidden * Math.min(pipeline, plan.microBatches)) / tensor;
  if (pipeline > 1) return dropout;
  return dropout + 4 * tokens * (hidden / tensor + vocabularyOf(model, tensor));
}
