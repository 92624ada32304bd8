import {
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
import { RULES, type Result } from '@acc/sharding-rules';
import type { Pieces } from '../pieces.js';
import type { Special } from './context.js';

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
    const call = pieces.callOf(
      [
        ['a', a!],
        ['b', b!],
      ],
      { transposeA, transposeB },
    );
    const plan = call && (call.rows('a') ?? call.rows('b')) ? RULES.get(BatchMatMul)!(call) : undefined;
    const isSum = typeof plan === 'object' && (plan.results as Result).kind === 'sum';
    // Otherwise the fused kernel runs on the pieces.
    if (!isSum) return undefined;
    const product = context.run(BatchMatMul, { a: a!, b: b! }, { transposeA, transposeB });
    const steps = [product];
    if (bias) steps.push(context.run(Add, { a: product, b: bias }));
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
