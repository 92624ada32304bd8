import { allReduceSeconds, send, shareSeconds } from '../collectives/collectives.js';
import type { Cluster } from '../cluster.js';
import { headFlops, layerProducts, sum, vocabularyOf } from '../flops.js';
import type { Calibration } from '../hardware/calibrations.js';
import type { Model } from '../model.js';
import type { Plan } from '../plan.js';
import { groupOf, linkOf } from './groups.js';

/** Where the time of a device goes in a part of a step, in seconds. */
export interface Seconds {
  readonly products: number;
  readonly attention: number;
  /** Norms, activations, masks, softmax: their time is that of their bytes. */
  readonly elementwise: number;
  /** Collectives of `tensor` and `context` that are not hidden. */
  readonly communication: number;
}

export interface PassSeconds {
  readonly forward: Seconds;
  readonly backward: Seconds;
  /** The part of `backward` that repeats forward. */
  readonly recomputed: number;
}

/** All that times depend on. */
export interface Setting {
  readonly model: Model;
  readonly plan: Plan;
  readonly cluster: Cluster;
  readonly calibration: Calibration;
  /** Sequences of a micro-batch on average. */
  readonly rows: number;
}

export const tokensOf = ({ model, plan, rows }: Setting): number =>
  (rows * model.sequence) / plan.mesh.context;

/** The bytes of an element of activations and of weights that products take. */
export const elementBytes = ({ precision }: Plan): number =>
  precision === 'float32' || precision === 'tf32' ? 4 : 2;

/** A product of matrices: small ones reach less of the peak. The time that they lose is the same in all precisions. */
export function productSeconds(flops: number, { plan, cluster, calibration }: Setting): number {
  const { products, halfFlops } = calibration;
  const { peakFlops } = cluster.device;
  const peak = peakFlops[plan.precision]!;
  const peakOf16Bits = peakFlops.bf16 ?? peakFlops.fp16 ?? peak;
  return (flops + (halfFlops * peak) / peakOf16Bits) / (peak * products);
}

export const bytesSeconds = (bytes: number, { cluster, calibration }: Setting): number =>
  bytes / (cluster.device.memoryBytesPerSecond * calibration.memory);

/** A layer, forward and backward, of one micro-batch. */
export function layerSeconds(setting: Setting): PassSeconds {
  const { plan } = setting;
  const tokens = tokensOf(setting);
  const { matrices, attention } = layerProducts(setting.model, tokens, plan.mesh.tensor);
  const products = sum(matrices.map((flops) => productSeconds(flops, setting)));
  const core = attentionSeconds(attention, setting);
  const { elementwise, softmax } = elementwiseSeconds(setting);
  const tensor = tensorSeconds(setting);
  const context = contextSeconds(setting, core.forward);
  const forward = {
    ...{ products, attention: core.forward, elementwise: elementwise + softmax },
    communication: tensor + context,
  };
  const again = {
    none: NOTHING,
    selective: plan.flashAttention ? NOTHING : { ...NOTHING, attention: core.forward, elementwise: softmax },
    full: forward,
  }[plan.recompute];
  const backward = {
    products: 2 * products + again.products,
    attention: core.backward + again.attention,
    elementwise: 2 * (elementwise + softmax) + again.elementwise,
    communication: tensor + 2 * context + again.communication,
  };
  return { forward, backward, recomputed: total(again) };
}

export const NOTHING: Seconds = { products: 0, attention: 0, elementwise: 0, communication: 0 };
export const total = ({ products, attention, elementwise, communication }: Seconds): number =>
  products + attention + elementwise + communication;

/**
 * Scores and values. A fused kernel computes the causal half, in backward 2.5 times as much, the scores
 * once more among it (Dao, "FlashAttention-2", 2023).
 */
function attentionSeconds(flops: number, setting: Setting): { forward: number; backward: number } {
  const { plan, cluster, calibration } = setting;
  if (!plan.flashAttention) {
    const matrices = { ...setting, plan: { ...plan, precision: attentionPrecision(setting) } };
    const forward = 2 * productSeconds(flops / 2, matrices);
    return { forward, backward: 2 * forward };
  }
  const rate = cluster.device.peakFlops[attentionPrecision(setting)]! * calibration.attention;
  return { forward: flops / 2 / rate, backward: (2.5 * flops) / 2 / rate };
}

/** Attention is not computed in 8 bits. */
const attentionPrecision = ({ plan }: Setting) => (plan.precision === 'fp8' ? 'bf16' : plan.precision);

/**
 * The bytes that a forward pass reads and writes beside products, for 16-bit elements: sbh(22 + 32/t) and
 * 9as²b/t for softmax and its mask; a quarter of the 32/t is that of attention, the rest that of an MLP of
 * 4h. Without fusion each bias, dropout and sum is read and written by itself: 8h a block more, and 4 bytes
 * for each value inside the MLP. A mask, a conversion to float32, softmax in float32 and the conversion back
 * take 21 bytes of a score more in forward and 22 in backward: 14 for each of the three units of work.
 */
function elementwiseSeconds(setting: Setting): { elementwise: number; softmax: number } {
  const { model, plan } = setting;
  const { hidden, heads, intermediate, sequence, kind } = model;
  const { tensor } = plan.mesh;
  const tokens = tokensOf(setting);
  const scale = elementBytes(plan) / 2;
  const norms = (hidden * (22 + (plan.fused ? 0 : 16))) / (plan.sequenceParallel ? tensor : 1);
  const inner = (kind === 'llama' ? 8 : 6) * intermediate + (plan.fused ? 0 : 4 * intermediate);
  const scores = plan.flashAttention ? 0 : (heads * sequence * (plan.fused ? 9 : 23)) / tensor;
  return {
    elementwise: bytesSeconds(scale * tokens * (norms + (8 * hidden + inner) / tensor), setting),
    softmax: bytesSeconds(scale * tokens * scores, setting),
  };
}

/** Two all-reduces of a layer's result, or as many reduce-scatters and all-gathers. */
function tensorSeconds(setting: Setting): number {
  const { model, plan, cluster, calibration } = setting;
  if (plan.mesh.tensor === 1) return 0;
  const group = groupOf('tensor', plan.mesh, cluster, calibration);
  const bytes = elementBytes(plan) * tokensOf(setting) * model.hidden;
  return 2 * allReduceSeconds(bytes, group) * calibration.tensorExposed;
}

/** Keys and values go round the ring of `context` while attention computes. */
function contextSeconds(setting: Setting, hiddenUnder: number): number {
  const { model, plan, cluster, calibration } = setting;
  if (plan.mesh.context === 1) return 0;
  const group = groupOf('context', plan.mesh, cluster, calibration);
  const width = (2 * model.kvHeads * model.headDim) / plan.mesh.tensor;
  const bytes = elementBytes(plan) * tokensOf(setting) * width;
  const steps = plan.mesh.context - 1;
  return Math.max(0, steps * send(bytes, linkOf(group)) - hiddenUnder);
}

/** The head and its loss, in the last stage. */
export function headSeconds(setting: Setting): PassSeconds {
  const { model, plan } = setting;
  const tokens = tokensOf(setting);
  const { tensor } = plan.mesh;
  // The head stays in 16 bits.
  const matrices = { ...setting, plan: { ...plan, precision: attentionPrecision(setting) } };
  const products = productSeconds(headFlops(model, tokens, tensor), matrices);
  const entries = tokens * vocabularyOf(model, tensor);
  const elementwise = bytesSeconds(setting.calibration.lossBytes * entries, setting) / 3;
  const communication = tensorSeconds(setting) / 2;
  return {
    forward: { ...NOTHING, products, elementwise, communication },
    backward: { ...NOTHING, products: 2 * products, elementwise: 2 * elementwise, communication },
    recomputed: 0,
  };
}

/** Gathers and reductions of a layer's weights over `fsdp`, of one micro-batch, before any hiding. */
export function gatherSeconds(parameters: number, setting: Setting): number {
  const { plan, cluster, calibration } = setting;
  if (plan.mesh.fsdp === 1) return 0;
  return shareSeconds(elementBytes(plan) * parameters, groupOf('fsdp', plan.mesh, cluster, calibration));
}
