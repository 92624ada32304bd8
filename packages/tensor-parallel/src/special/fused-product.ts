import {
  _FusedMatMul,
  Add,
  BatchMatMul,
  Elu,
  LeakyRelu,
  Prelu,
  Relu,
  Relu6,
  Sigmoid,
  type _FusedMatMulAttrs,
  type TensorInfo,
} from '@tensorflow/tfjs-core';
import { resultWithoutValues } from '@acc/kernels';
import type { Result } from '@acc/sharding-rules';
import type { LocalTensors } from '../local-tensors.js';
import type { LocalPlan } from '../run-on-local.js';
import type { Special, SpecialContext } from './context.js';

const ACTIVATIONS: Readonly<Record<string, string>> = {
  relu: Relu,
  relu6: Relu6,
  elu: Elu,
  sigmoid: Sigmoid,
  prelu: Prelu,
  leakyrelu: LeakyRelu,
};

/** Gathers the state of a recurrent cell that is multiplied by this rank's columns. */
function gatherState(shards: LocalTensors, a: TensorInfo, b: TensorInfo): void {
  if (shards.isInCell && shards.isCut(b)) shards.gatherFull(a);
}

/** A product that is a partial sum gets its bias and activation afterwards. */
export const fusedProduct: Special = {
  whenSharded(context, { inputs, attrs }) {
    const { shards, kernels } = context;
    const { a, b, bias, preluActivationWeights } = inputs as Record<string, TensorInfo | undefined>;
    const { activation, leakyreluAlpha, ...ofProduct } = attrs as unknown as _FusedMatMulAttrs;
    gatherState(shards, a!, b!);
    const name = ACTIVATIONS[activation ?? ''];
    if (!bias && !name) return undefined;
    const factors = { a: a!, b: b! };
    const plan = context.planOf(BatchMatMul, factors, ofProduct);
    // Otherwise the fused kernel runs on the shards.
    if (!isSum(plan)) return undefined;
    const steps = productOf(context, factors, { bias, plan });
    if (name) {
      const x = steps.at(-1)!;
      const extra = preluActivationWeights && { alpha: preluActivationWeights };
      steps.push(context.run(name, name === Prelu ? { ...extra, x } : { x }, { alpha: leakyreluAlpha }));
    }
    for (const step of steps.slice(0, -1)) kernels.free(step);
    const result = steps.at(-1)!;
    return name ? result : resultWithoutValues(result);
  },
};

/** Whether a product of factors of which one has rows is a sum over ranks. */
function isSum(plan: LocalPlan | string): plan is LocalPlan {
  return typeof plan === 'object' && plan.hasRows && (plan.plan.results as Result).kind === 'sum';
}

/**
 * The partial sum with the bias, and what it was made of. The first rank adds the bias, in the same
 * kernel as the product.
 */
function productOf(
  { shards, run, runPlanned }: SpecialContext,
  factors: { readonly a: TensorInfo; readonly b: TensorInfo },
  { bias, plan }: { readonly bias: TensorInfo | undefined; readonly plan: LocalPlan },
): TensorInfo[] {
  const { attrs } = plan;
  const canFuse = bias && !shards.isCut(bias) && !plan.cutsWhole;
  if (canFuse && shards.line.index === 0) {
    const fused = { ...attrs, activation: 'linear' };
    const operands = [...plan.operands, { name: 'bias', localShape: undefined, cut: undefined, factor: 1 }];
    return [runPlanned(_FusedMatMul, { ...factors, bias }, { ...plan, operands, attrs: fused })];
  }
  const product = run(BatchMatMul, factors, attrs);
  return bias && !canFuse ? [product, run(Add, { a: product, b: bias })] : [product];
}
