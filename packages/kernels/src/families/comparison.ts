import { util, type BinaryInputs, type KernelConfig, type TensorInfo } from '@tensorflow/tfjs-core';
import { operator, tensorFrom, type Tensor as NativeTensor } from '@acc/native';
import type { AccBackend } from '../backend.js';
import { kernel } from '../kernel.js';
import { applyBinary, type Accepted } from './elementwise.js';

/**
 * A kernel that compares two inputs, numbers or strings, that broadcast against each other. The
 * result is boolean.
 */
export function comparisonKernel(kernelName: string, operatorName: string, accepted: Accepted): KernelConfig {
  const compare = operator(operatorName);
  return kernel<BinaryInputs>(kernelName, ({ inputs: { a, b }, backend }) => {
    if (a.dtype !== 'string') return applyBinary(backend, a, b, compare, accepted, 'bool');
    const ranks = ranksOfStrings(backend, a, b);
    using ranksA = ranks[0];
    using ranksB = ranks[1];
    return backend.wrap(compare(ranksA, ranksB), 'bool');
  });
}

/**
 * The rank of each string in the order of all strings of both tensors. Ranks compare as the strings
 * do.
 */
function ranksOfStrings(backend: AccBackend, a: TensorInfo, b: TensorInfo): [NativeTensor, NativeTensor] {
  const [textsA, textsB] = [textsOf(backend, a), textsOf(backend, b)];
  // `sort` orders strings as `<` does: by UTF-16 code units.
  const ordered = [...new Set([...textsA, ...textsB])].sort();
  const rankOf = new Map(ordered.map((text, rank) => [text, rank]));
  const ranks = (texts: string[], shape: number[]) =>
    tensorFrom(
      Int32Array.from(texts, (text) => rankOf.get(text)!),
      'int32',
      shape,
    );
  return [ranks(textsA, a.shape), ranks(textsB, b.shape)];
}

function textsOf(backend: AccBackend, { dataId }: TensorInfo): string[] {
  return (backend.readSync(dataId) as Uint8Array[]).map((bytes) => util.decodeString(bytes));
}
