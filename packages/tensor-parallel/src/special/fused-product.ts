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
import type { Pieces } from '../pieces.js';
import type { PiecePlan } from '../run-on-piece.js';
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
function gatherState(pieces: Pieces, a: TensorInfo, b: TensorInfo): void {
  if (pieces.isInCell && pieces.isCut(b)) pieces.makeWhole(a);
}

/** A product that is a partial sum gets its bias and activation afterwards. */
export const fusedProduct: Special = {
  ofCut(context, { inputs, attrs }) {
    const { pieces, kernels } = context;
    const { a, b, bias, preluActivationWeights } = inputs as Record<string, TensorInfo | undefined>;
    const { transposeA, transposeB, activation, leakyreluAlpha } = attrs as unknown as _FusedMatMulAttrs;
    gatherState(pieces, a!, b!);
    const name = ACTIVATIONS[activation ?? ''];
    if (!bias && !name) return undefined;
    const factors = { a: a!, b: b! };
    const plan = context.planOf(BatchMatMul, factors, { transposeA, transposeB });
    // Otherwise the fused kernel runs on the pieces.
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
function isSum(plan: PiecePlan | string): plan is PiecePlan {
  return typeof plan === 'object' && plan.hasRows && (plan.plan.results as Result).kind === 'sum';
}

/**
 * The partial sum with the bias, and what it was made of. The first rank adds the bias, in the same
 * kernel as the product.
 */
function productOf(
  { pieces, run, runPlanned }: SpecialContext,
  factors: { readonly a: TensorInfo; readonly b: TensorInfo },
  { bias, plan }: { readonly bias: TensorInfo | undefined; readonly plan: PiecePlan },
): TensorInfo[] {
  const { attrs } = plan;
  const canFuse = bias && !pieces.isCut(bias) && !plan.cutsWhole;
  if (canFuse && pieces.line.index === 0) {
    const fused = { ...attrs, activation: 'linear' };
    const operands = [...plan.operands, { name: 'bias', pieceShape: undefined, cut: undefined, factor: 1 }];
    return [runPlanned(_FusedMatMul, { ...factors, bias }, { ...plan, operands, attrs: fused })];
  }
  const product = run(BatchMatMul, factors, attrs);
  return bias && !canFuse ? [product, run(Add, { a: product, b: bias })] : [product];
}
