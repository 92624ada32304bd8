import { Tensor, util, type TensorInfo } from '@tensorflow/tfjs-core';
import { operator, type Tensor as NativeTensor } from '@acc/native';
import type { AccBackend } from '../backend.js';
import { activated, isLinear } from './activation.js';
import { takeSum } from './added-product.js';
import { toDtype, wrapElements } from './conversion.js';
import { isPackedProduct, packedProduct } from '../packed/packed-product.js';
import { endedEightBitProduct } from './eight-bit-product.js';
import type { MatMulAttrs, MatMulInputs } from './matmul-inputs.js';
import { addProduct, isEnded, product } from './product.js';

// Every matrix product of the backend runs through `product` (two matrices) or `products` (stacks
// of matrices).

const bmm = operator('aten::bmm');
const matmul = operator('aten::matmul');
const baddbmm = operator('aten::baddbmm');
const add = operator('aten::add.Tensor');
const transpose = operator('aten::transpose.int');
const reshape = operator('aten::reshape');

/** `[..., m, k]` by `[..., k, n]`; leading dims broadcast. Caller disposes. */
function products(a: NativeTensor, b: NativeTensor): NativeTensor {
  const isList = a.shape.length === 3 && b.shape.length === 3 && a.shape[0] === b.shape[0];
  return isList ? bmm(a, b) : matmul(a, b);
}

/** {@link products} plus a bias that broadcasts to the product. Caller disposes. */
function productsAndBias(a: NativeTensor, b: NativeTensor, bias: NativeTensor): NativeTensor {
  const isList = a.shape.length === 3 && b.shape.length === 3 && a.shape[0] === b.shape[0];
  if (isList && bias.shape.length <= 3) return baddbmm(bias, a, b);
  using product = products(a, b);
  return add(product, bias);
}

/** BatchMatMul, and _FusedMatMul with bias and activation. */
export function matMul(backend: AccBackend, inputs: MatMulInputs, attrs: MatMulAttrs): TensorInfo {
  const { a, b, bias, preluActivationWeights } = inputs;
  checkInnerDims(a, b, attrs);
  const packed = isPackedProduct(inputs, attrs) && packedProduct(backend, inputs, attrs);
  if (packed) return packed;
  if (attrs.eightBits) return oneProduct(backend, inputs, attrs);
  if (isOneProduct(inputs)) return oneProduct(backend, inputs, attrs);
  // Integers are multiplied as float64, in which sums are exact as in tfjs. This is faster and
  // works on every device.
  const isWhole = a.dtype === 'int32' || a.dtype === 'bool';
  using wholeA = isWhole ? toDtype(backend.native(a), 'float64') : undefined;
  using wholeB = isWhole ? toDtype(backend.native(b), 'float64') : undefined;
  using wholeBias = isWhole && bias ? toDtype(backend.native(bias), 'float64') : undefined;
  const isStacked = !isWhole && !bias && !preluActivationWeights && isStack(a, b);
  using lentA = wholeA ? undefined : lent(backend, isStacked ? asList(a) : a);
  using lentB = wholeB ? undefined : lent(backend, isStacked ? asList(b) : b);
  const left = wholeA ?? lentA!.native;
  const right = wholeB ?? lentB!.native;
  using turnedA = attrs.transposeA ? transpose(left, -2, -1) : undefined;
  using turnedB = attrs.transposeB ? transpose(right, -2, -1) : undefined;
  const [first, second] = [turnedA ?? left, turnedB ?? right];
  const product = bias
    ? productsAndBias(first, second, wholeBias ?? backend.native(bias))
    : products(first, second);
  const alpha = preluActivationWeights && backend.native(preluActivationWeights);
  const result = activated(product, attrs.activation, { alpha, leakyreluAlpha: attrs.leakyreluAlpha });
  if (isWhole) return wrapElements(backend, result, a.dtype);
  if (!isStacked) return backend.wrap(result, a.dtype);
  using matrices = result;
  const shape = [...a.shape.slice(0, -2), ...result.shape.slice(-2)];
  return backend.wrap(reshape(matrices, shape), a.dtype);
}

/**
 * Whether the inputs are two matrices, after any number of dims of length 1, and the bias is one
 * row.
 */
function isOneProduct({ a, b, bias }: MatMulInputs): boolean {
  if (a.dtype !== 'float32' || b.dtype !== 'float32') return false;
  if (bias && (bias.shape.length > 1 || bias.dtype !== 'float32')) return false;
  return isOneMatrix(a.shape) && isOneMatrix(b.shape);
}

function isOneMatrix(shape: readonly number[]): boolean {
  for (let dim = 0; dim < shape.length - 2; dim++) if (shape[dim] !== 1) return false;
  // oneDNN rejects matrices without elements.
  return !shape.includes(0);
}

function oneProduct(backend: AccBackend, inputs: MatMulInputs, attrs: MatMulAttrs): TensorInfo {
  const { a, b, bias, preluActivationWeights, amaxes } = inputs;
  const { transposeA, transposeB, activation, leakyreluAlpha } = attrs;
  using left = lent(backend, matrixOf(a));
  using right = lent(backend, matrixOf(b));
  const shape = [a.shape.at(transposeA ? -1 : -2)!, b.shape.at(transposeB ? -2 : -1)!] as const;
  const isPlain =
    !attrs.eightBits &&
    !bias &&
    !preluActivationWeights &&
    isLinear(activation) &&
    isWholeTensor(backend, a) &&
    isWholeTensor(backend, b);
  const sum = isPlain ? takeSum(backend, shape, [left.native, right.native]) : undefined;
  if (sum) {
    addProduct(sum.native, left.native, right.native, transposeA, transposeB);
    backend.incRef(sum.info.dataId);
    return { dataId: sum.info.dataId, shape: [...shape], dtype: 'float32' };
  }
  const row = bias ? backend.native(bias) : null;
  const alpha = preluActivationWeights && backend.native(preluActivationWeights);
  const { eightBits } = attrs;
  const ended = eightBits
    ? endedEightBitProduct([left.native, right.native, row], {
        ...attrs,
        ...{ eightBits, alpha, device: backend.device },
        amaxes: amaxes && backend.native(amaxes),
      })
    : product(left.native, right.native, row, transposeA, transposeB, activation ?? 'linear');
  const isComplete = eightBits !== undefined || isEnded(activation);
  const result = isComplete ? ended : activated(ended, activation, { alpha, leakyreluAlpha });
  const info = backend.wrap(result, 'float32');
  const rank = Math.max(a.shape.length, b.shape.length);
  return rank <= info.shape.length
    ? info
    : { ...info, shape: [...ones(rank - info.shape.length), ...info.shape] };
}

/** Whether a factor is a tensor of tfjs. The product of shards is a part of one, and has no tensors as factors. */
const isWholeTensor = (backend: AccBackend, factor: TensorInfo): boolean =>
  factor instanceof Tensor && !backend.shardsOf(factor);

const ones = (count: number): number[] => Array.from({ length: count }, () => 1);

/**
 * The native tensor of `x`, until it is disposed: a copy, which another shape of a transposed tensor
 * needs, does not stay with the data.
 */
function lent(backend: AccBackend, x: TensorInfo): Lent {
  const native = backend.nativeOfData(x);
  if (!native || util.arraysEqual(native.shape as number[], x.shape))
    return new Lent(backend.native(x), false);
  return new Lent(reshape(native, x.shape), true);
}

/** A class, because products are many, and two closures each would be slower. */
class Lent implements Disposable {
  constructor(
    readonly native: NativeTensor,
    readonly isCopy: boolean,
  ) {}

  [Symbol.dispose](): void {
    if (this.isCopy) this.native.dispose();
  }
}

/** The matrix without leading dims of length 1, most likely the shape of its data. */
function matrixOf(x: TensorInfo): TensorInfo {
  return x.shape.length === 2 ? x : { ...x, shape: x.shape.slice(-2) };
}

/**
 * Whether both have the same two or more leading dims: they are then multiplied as lists of
 * matrices.
 */
function isStack(a: TensorInfo, b: TensorInfo): boolean {
  const rank = a.shape.length;
  if (rank <= 3 || b.shape.length !== rank) return false;
  return a.shape.every((size, dim) => dim >= rank - 2 || size === b.shape[dim]);
}

/**
 * `[..., rows, columns]` as a list of matrices. After a transposition this needs a copy, which lasts as
 * long as the product: the gradient makes it again, because it would take memory until then.
 */
function asList(x: TensorInfo): TensorInfo {
  const count = util.sizeFromShape(x.shape.slice(0, -2));
  return { ...x, shape: [count, ...x.shape.slice(-2)] };
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
