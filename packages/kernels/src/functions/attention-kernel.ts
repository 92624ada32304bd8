import type { Tensor, TensorInfo } from '@tensorflow/tfjs-core';
import { operator, operatorInPlace, type Tensor as NativeTensor } from '@acc/native';
import type { AccBackend } from '../backend.js';
import { inDtypeOf, toDtype } from '../families/conversion.js';
import { attentionInPlainOps } from './attention-in-plain-ops.js';
import {
  attentionCandidate,
  candidateFor,
  type AttentionInputs,
  type AttentionKernelSettings,
  type AttentionCandidate,
} from './attention-candidates.js';
import { fusedFunction } from './fused-function.js';

export interface FusedAttentionAttrs extends AttentionKernelSettings {
  readonly candidate: AttentionCandidate;
  /** Whether to make q, k and v contiguous first: no kernel accepts their present layout. */
  readonly needsCopies: boolean;
}

const contiguous = operator('aten::contiguous');
const log = operatorInPlace('aten::log_');

export const attentionFunction = fusedFunction<FusedAttentionAttrs>({
  kernelName: 'AccScaledDotProductAttention',
  forward: ({ inputs, attrs, backend, isTaped }) =>
    withNatives(backend, inputs, attrs.needsCopies, (natives) => {
      const [output, saved] = attentionCandidate(attrs.candidate).forward(natives, attrs);
      const result = backend.wrap(output, 'float32');
      if (isTaped) backend.attach(result, saved);
      else for (const tensor of saved) tensor.dispose();
      return result;
    }),
  backward: ({ dy, inputs, output, attrs, backend }) =>
    withNatives(backend, inputs, attrs.needsCopies, (natives) => {
      using nativeDy = inDtypeOf(natives.q, backend.native(dy));
      const saved = backend.attached(output);
      const candidate = attentionCandidate(attrs.candidate);
      const grads = candidate.backward(nativeDy, natives, backend.native(output), saved, attrs);
      return grads.map((grad) => backend.wrap(grad, 'float32'));
    }),
  plain: ([q, k, v, mask], { isCausal, scale }) =>
    attentionInPlainOps(q!, k!, v!, { mask, isCausal, scale, dropout: 0 }),
});

/**
 * The attributes to run the kernel with on these inputs. Returns undefined if libtorch has no
 * kernel for them.
 */
export function fusedAttrs(
  backend: AccBackend,
  inputs: readonly Tensor[],
  settings: AttentionKernelSettings,
): FusedAttentionAttrs | undefined {
  const samples = samplesOf(backend, inputs);
  for (const needsCopies of [false, true]) {
    const candidate = withNatives(backend, samples, needsCopies, (natives) =>
      candidateFor(backend, natives, settings),
    );
    if (candidate) return { ...settings, candidate, needsCopies };
  }
  return undefined;
}

/**
 * The first shard of each input that is stored in shards: the kernel runs shard by shard. Returns
 * the inputs themselves if the shards do not have the same batch.
 */
function samplesOf(backend: AccBackend, inputs: readonly TensorInfo[]): readonly TensorInfo[] {
  const samples = inputs.map((x) => backend.firstShard(x) ?? x);
  const [q, k, v, mask] = samples as [TensorInfo, TensorInfo, TensorInfo, TensorInfo?];
  const [batch] = q.shape;
  const isMaskOfAll = !mask || mask.shape.length < 4 || mask.shape[0] === 1;
  const fits = k.shape[0] === batch && v.shape[0] === batch && (isMaskOfAll || mask.shape[0] === batch);
  return fits ? samples : inputs;
}

/** Runs `compute` on native tensors of one dtype, and frees those that were made for it. */
export function withNatives<T>(
  backend: AccBackend,
  [q, k, v, mask]: readonly TensorInfo[],
  needsCopies: boolean,
  compute: (inputs: AttentionInputs) => T,
): T {
  const given = [q!, k!, v!].map((x) => backend.native(x)) as [NativeTensor, NativeTensor, NativeTensor];
  const isReady = !needsCopies && !mask && given.every(({ dtype }) => dtype === given[0].dtype);
  if (isReady) return compute({ q: given[0], k: given[1], v: given[2], mask: null });
  const created = given.map((x) => {
    using converted = inDtypeOf(given[0], x);
    return needsCopies ? contiguous(converted) : converted.alias();
  }) as typeof given;
  using nativeMask = mask ? additive(backend, mask) : null;
  try {
    return compute({ q: created[0], k: created[1], v: created[2], mask: nativeMask });
  } finally {
    for (const tensor of created) tensor.dispose();
  }
}

/**
 * The mask to add to the scores. A boolean mask becomes its logarithm: 0 and -Infinity. Caller
 * disposes.
 */
function additive(backend: AccBackend, mask: TensorInfo): NativeTensor {
  const native = backend.native(mask);
  if (mask.dtype !== 'bool') return native.alias();
  const logarithms = toDtype(native, 'float32');
  log(logarithms);
  return logarithms;
}
