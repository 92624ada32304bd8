import {
  engine,
  type NamedAttrMap,
  type NamedTensorMap,
  type Tensor,
  type TensorInfo,
} from '@tensorflow/tfjs-core';
import type { AttentionBlock, AttentionBlockSettings, FusedFunctions } from '@acc/contract';
import type { Tensor as NativeTensor } from '@acc/native';
import type { AccBackend } from '../backend.js';
import { inDtypeOf } from '../families/conversion.js';
import { kernel } from '../kernel.js';
import { fusedAttrs, withNatives, type FusedAttentionAttrs } from './attention-kernel.js';
import { attentionCandidate } from './attention-candidates.js';
import { withUnseenQueries } from './seeing-queries.js';

const KERNEL = 'AccAttentionBlock';
const GRADIENT = 'AccAttentionBlockGrad';

type List = readonly TensorInfo[];

/**
 * Attributes of the gradient. Before q, k, v and the mask it takes dy, the output, and the tensors
 * that forward saved.
 */
interface GradientAttrs extends FusedAttentionAttrs {
  readonly saved: number;
}

/** The kernels give the output, and then what the gradient needs, the logarithms of the sums first. */
export const attentionBlockKernels = [
  kernel<List, FusedAttentionAttrs>(KERNEL, ({ inputs, attrs, backend }) =>
    withNatives(backend, inputs, attrs.needsCopies, (natives) => {
      const [output, saved] = attentionCandidate(attrs.candidate).forward(natives, attrs);
      return [backend.wrap(output, 'float32'), ...saved.map((each) => backend.wrap(each, labelOf(each)))];
    }),
  ),
  kernel<List, GradientAttrs>(GRADIENT, ({ inputs: [dy, output, ...others], attrs, backend }) => {
    const saved = others.slice(0, attrs.saved).map((each) => backend.native(each));
    return withNatives(backend, others.slice(attrs.saved), attrs.needsCopies, (natives) => {
      using nativeDy = inDtypeOf(natives.q, backend.native(dy!));
      using nativeOutput = inDtypeOf(natives.q, backend.native(output!));
      const grads = attentionCandidate(attrs.candidate).backward(
        nativeDy,
        natives,
        nativeOutput,
        saved,
        attrs,
      );
      return grads.map((grad) => backend.wrap(grad, 'float32'));
    });
  }),
];

/** Seeds are integers, which no kernel of tfjs sees. */
const labelOf = ({ dtype }: NativeTensor) => (dtype === 'float32' ? 'float32' : 'int32');

/** The two functions of a kernel layer. */
export function accAttentionBlock(
  backend: AccBackend,
): Required<Pick<FusedFunctions, 'attentionBlock' | 'attentionBlockGradient'>> {
  return {
    attentionBlock(q, k, v, settings) {
      const inputs = withMask([q, k, v], settings);
      const attrs = fusedAttrs(backend, inputs, { ...settings, isPart: true });
      if (!attrs) return undefined;
      const [output, logSums, ...kept] = run(KERNEL, inputs, attrs);
      return { output: output!, logSums: withUnseenQueries(logSums!, settings), kept };
    },
    attentionBlockGradient(dy, qkv, { output, logSums, kept }: AttentionBlock, settings) {
      const inputs = withMask(qkv, settings);
      const attrs = fusedAttrs(backend, inputs, { ...settings, isPart: true });
      if (!attrs) return undefined;
      const all = [dy, output, logSums, ...kept, ...inputs];
      return run(GRADIENT, all, { ...attrs, saved: 1 + kept.length }) as [Tensor, Tensor, Tensor];
    },
  };
}

function withMask(qkv: readonly Tensor[], { mask }: AttentionBlockSettings): readonly Tensor[] {
  return mask ? [...qkv, mask] : qkv;
}

function run(name: string, inputs: readonly Tensor[], attrs: object): Tensor[] {
  return engine().runKernel(
    name,
    inputs as unknown as NamedTensorMap,
    attrs as unknown as NamedAttrMap,
  ) as Tensor[];
}
