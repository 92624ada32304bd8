import { util, type TensorInfo } from '@tensorflow/tfjs-core';
import { operator, type Tensor as NativeTensor } from '@acc/native';
import type { AccBackend } from '../backend.js';
import { activated, type Activation } from './activation.js';
import { toDtype, wrapElements } from './conversion.js';

// Every matrix product of the backend passes through `multiply` and `multiplyAdd`: a choice between libtorch's ways to
// compute one belongs there. bmm of one matrix is as fast as mm.

const mm = operator('aten::mm');
const bmm = operator('aten::bmm');
const matmul = operator('aten::matmul');
const baddbmm = operator('aten::baddbmm');
const add = operator('aten::add.Tensor');
const transpose = operator('aten::transpose.int');
const reshape = operator('aten::reshape');

/** `[..., m, k]` by `[..., k, n]`; leading dims broadcast. Caller disposes. */
function multiply(a: NativeTensor, b: NativeTensor): NativeTensor {
  const rank = a.shape.length;
  if (rank === b.shape.length) {
    if (rank === 2) return mm(a, b);
    if (rank === 3 && a.shape[0] === b.shape[0]) return bmm(a, b);
  }
  return matmul(a, b);
}

/** {@link multiply} and a bias that broadcasts to the product. Caller disposes. */
function multiplyAdd(a: NativeTensor, b: NativeTensor, bias: NativeTensor): NativeTensor {
  const isBatch = a.shape.length === 3 && b.shape.length === 3 && a.shape[0] === b.shape[0];
  if (isBatch && bias.shape.length <= 3) return baddbmm(bias, a, b);
  using product = multiply(a, b);
  return add(product, bias);
}

export interface MatMulAttrs {
  readonly transposeA: boolean;
  readonly transposeB: boolean;
  readonly activation?: Activation;
  readonly leakyreluAlpha?: number | undefined;
}

export interface MatMulInputs {
  readonly a: TensorInfo;
  readonly b: TensorInfo;
  readonly bias?: TensorInfo | undefined;
  readonly preluActivationWeights?: TensorInfo | undefined;
}

/** BatchMatMul, and _FusedMatMul with bias and activation. */
export function matMul(backend: AccBackend, inputs: MatMulInputs, attrs: MatMulAttrs): TensorInfo {
  const { a, b, bias, preluActivationWeights } = inputs;
  checkInnerDims(a, b, attrs);
  // Integers are multiplied as float64, in which tfjs's own sums are exact: faster, and on every device.
  const isWhole = a.dtype === 'int32' || a.dtype === 'bool';
  using wholeA = isWhole ? toDtype(backend.native(a), 'float64') : undefined;
  using wholeB = isWhole ? toDtype(backend.native(b), 'float64') : undefined;
  using wholeBias = isWhole && bias ? toDtype(backend.native(bias), 'float64') : undefined;
  const isStacked = !isWhole && !bias && !preluActivationWeights && isStack(a, b);
  const left = wholeA ?? (isStacked ? asList(backend, a) : backend.native(a));
  const right = wholeB ?? (isStacked ? asList(backend, b) : backend.native(b));
  using turnedA = attrs.transposeA ? transpose(left, -2, -1) : undefined;
  using turnedB = attrs.transposeB ? transpose(right, -2, -1) : undefined;
  const [first, second] = [turnedA ?? left, turnedB ?? right];
  const product = bias
    ? multiplyAdd(first, second, wholeBias ?? backend.native(bias))
    : multiply(first, second);
  const alpha = preluActivationWeights && backend.native(preluActivationWeights);
  const result = activated(product, attrs.activation, { alpha, leakyreluAlpha: attrs.leakyreluAlpha });
  if (isWhole) return wrapElements(backend, result, a.dtype);
  if (!isStacked) return backend.wrap(result, a.dtype);
  using matrices = result;
  const shape = [...a.shape.slice(0, -2), ...result.shape.slice(-2)];
  return backend.wrap(reshape(matrices, shape), a.dtype);
}

/** Whether both have the same leading dims, more than one: they are multiplied as lists of matrices. */
function isStack(a: TensorInfo, b: TensorInfo): boolean {
  const rank = a.shape.length;
  if (rank <= 3 || b.shape.length !== rank) return false;
  return a.shape.every((size, dim) => dim >= rank - 2 || size === b.shape[dim]);
}

/**
 * `[..., rows, columns]` as a list of matrices. Where a transposition left them apart they have to be copied for that:
 * the backend keeps the copy with the data, so that the gradient finds it. Borrowed.
 */
function asList(backend: AccBackend, x: TensorInfo): NativeTensor {
  const count = util.sizeFromShape(x.shape.slice(0, -2));
  return backend.native({ ...x, shape: [count, ...x.shape.slice(-2)] });
}

function checkInnerDims(a: TensorInfo, b: TensorInfo, { transposeA, transposeB }: MatMulAttrs): void {
  const innerA = a.shape.at(transposeA ? -2 : -1);
  const innerB = b.shape.at(transposeB ? -1 : -2);
  util.assert(
    innerA === innerB,
    () =>
      `Error in matMul: inner shapes (${innerA}) and (${innerB}) of Tensors with shapes ${a.shape} and ` +
      `${b.shape} and transposeA=${transposeA} and transposeB=${transposeB} must match.`,
  );
}
