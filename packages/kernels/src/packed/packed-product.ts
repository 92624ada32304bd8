import { util, type TensorInfo } from '@tensorflow/tfjs-core';
import { operator, type Tensor as NativeTensor } from '@acc/native';
import type { AccBackend } from '../backend.js';
import { activated } from '../families/activation.js';
import type { MatMulAttrs, MatMulInputs } from '../families/matmul-inputs.js';
import { packedOf } from './packed-tensor.js';

const add = operator('aten::add.Tensor');
const contiguous = operator('aten::contiguous');
const castTo = operator('aten::_to_copy');
const reshape = operator('aten::reshape');

/** Whether the second factor is one packed matrix, and the first is not transposed. */
export function isPackedProduct(
  { a, b, bias }: Partial<MatMulInputs>,
  { transposeA }: Partial<MatMulAttrs>,
): boolean {
  if (!a || !b || a.dtype !== 'float32' || transposeA || packedOf(a)) return false;
  const packed = packedOf(b);
  if (!packed?.product || !util.arraysEqual(b.shape.slice(-2), packed.shape as number[])) return false;
  if (bias && (bias.shape.length > 1 || bias.dtype !== 'float32')) return false;
  return b.shape.slice(0, -2).every((size) => size === 1) && !a.shape.includes(0);
}

/** The product with a packed matrix. Undefined if it is to be computed from float32 values. */
export function packedProduct(
  backend: AccBackend,
  { a, b, bias, preluActivationWeights }: MatMulInputs,
  { transposeB, activation, leakyreluAlpha }: MatMulAttrs,
): TensorInfo | undefined {
  using flat = reshape(backend.native(a), [-1, a.shape.at(-1)!]);
  // libtorch's kernels for packed weights take no other order.
  using rows = contiguous(flat);
  const product = packedOf(b)!.product!(rows, transposeB);
  if (!product) return undefined;
  using y = bias ? withBias(product, backend.native(bias)) : product;
  using alpha = preluActivationWeights && castTo(backend.native(preluActivationWeights), y.dtype);
  const rank = Math.max(a.shape.length, b.shape.length);
  const lead = Array.from({ length: rank - a.shape.length }, () => 1);
  const shape = [...lead, ...a.shape.slice(0, -1), b.shape.at(transposeB ? -2 : -1)!];
  return backend.wrap(activated(reshape(y, shape), activation, { alpha, leakyreluAlpha }), 'float32');
}

function withBias(product: NativeTensor, bias: NativeTensor): NativeTensor {
  using before = product;
  using same = castTo(bias, product.dtype);
  return add(before, same);
}
