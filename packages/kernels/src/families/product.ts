import { operator, operatorInPlace, type Tensor as NativeTensor } from '@acc/native';
import { tuned } from '../tuning/tuning.js';
import { isLinear, type Activation } from './activation.js';

const mm = operator('aten::mm');
const addmm = operator('aten::addmm');
const transpose = operator('aten::t');
const linear = operator('mkldnn::_linear_pointwise');
const matmul = operator('acc::matmul');
const addmm_ = operatorInPlace('aten::addmm_');
const add_ = operatorInPlace('aten::add_.Tensor');
const addMatmul_ = operatorInPlace('acc::addmm_');
const relu = operatorInPlace('aten::relu_');

/** Below this many multiplications, a product takes less time than the call of the operator. */
const SMALL_PRODUCT = 2 ** 15;

/**
 * Two matrices as stored, a bias `[n]` or null, whether to transpose each matrix, and the
 * activation.
 */
type Args = readonly [
  a: NativeTensor,
  b: NativeTensor,
  bias: NativeTensor | null,
  transposeA: boolean,
  transposeB: boolean,
  activation: Activation,
];

/** Two matrices as stored, and whether to transpose each. */
type Factors = readonly [a: NativeTensor, b: NativeTensor, transposeA: boolean, transposeB: boolean];

/** Whether {@link product} applies the activation itself. */
export function isEnded(activation: Activation | null | undefined): boolean {
  return isLinear(activation) || activation === 'relu';
}

/**
 * The product of two matrices, with bias and, if {@link isEnded}, with activation. The first candidate is
 * the BLAS of the libtorch build. The second is oneDNN, which has kernels for each kind of CPU and
 * is much faster on AMD. The third is this project's own kernel, for CPUs with AVX-512.
 */
export const product = tuned<Args>({
  name: 'matmul',
  candidates: {
    blas: (a, b, bias, transposeA, transposeB, activation) => {
      using turnedA = transposeA ? transpose(a) : undefined;
      using turnedB = transposeB ? transpose(b) : undefined;
      const [left, right] = [turnedA ?? a, turnedB ?? b];
      const result = bias ? addmm(bias, left, right) : mm(left, right);
      if (activation === 'relu') relu(result);
      return result;
    },
    onednn: (a, b, bias, transposeA, transposeB, activation) => {
      using turnedA = transposeA ? transpose(a) : undefined;
      // oneDNN expects the second matrix as the weight of a layer, `[n, k]`.
      using turnedB = transposeB ? undefined : transpose(b);
      const end = activation === 'relu' ? 'relu' : 'none';
      return linear(turnedA ?? a, turnedB ?? b, bias, end, [], null);
    },
    panels: (a, b, bias, transposeA, transposeB, activation) =>
      matmul(a, b, bias, transposeA, transposeB, activation === 'relu' ? 'relu' : 'linear'),
  },
  // All results have the same layout, so a gain is not lost elsewhere.
  clearly: 0.95,
  classOf: (a, b, bias, transposeA, transposeB) => {
    const [m, k, n] = sizes(a, b, transposeA, transposeB);
    const layout = (transposeA ? 4 : 0) + (transposeB ? 2 : 0) + (bias ? 1 : 0);
    const dtype = a.dtype === 'float32' ? 0 : a.dtype === 'bfloat16' ? 1 : 2;
    return (((power(m) * 32 + power(k)) * 32 + power(n)) * 8 + layout) * 4 + dtype;
  },
  isSmall: (a, b, _bias, transposeA, transposeB) => {
    const [m, k, n] = sizes(a, b, transposeA, transposeB);
    return m * k * n < SMALL_PRODUCT;
  },
  nameOf: (a, b, bias, transposeA, transposeB) => {
    const [m, k, n] = sizes(a, b, transposeA, transposeB).map((size) => `${2 ** power(size)}`);
    const [left, right] = [`${m}×${k}${transposeA ? 'ᵀ' : ''}`, `${k}×${n}${transposeB ? 'ᵀ' : ''}`];
    return `${a.dtype} ${left} · ${right}${bias ? ' + bias' : ''}`;
  },
});

/** How each candidate of {@link product} adds a product to a sum. */
const ADDING: Readonly<Record<string, (sum: NativeTensor, ...factors: Factors) => void>> = {
  blas: (sum, a, b, transposeA, transposeB) => {
    using turnedA = transposeA ? transpose(a) : undefined;
    using turnedB = transposeB ? transpose(b) : undefined;
    addmm_(sum, turnedA ?? a, turnedB ?? b);
  },
  // oneDNN's operator returns a new tensor.
  onednn: (sum, a, b, transposeA, transposeB) => {
    using added = product(a, b, null, transposeA, transposeB, 'linear');
    add_(sum, added);
  },
  panels: addMatmul_,
};

/** Adds a product to `sum`, a float32 matrix, by the candidate that is fastest for the product alone. */
export function addProduct(sum: NativeTensor, ...factors: Factors): void {
  const [a, b, transposeA, transposeB] = factors;
  const candidate = product.candidateFor(a, b, null, transposeA, transposeB, 'linear');
  ADDING[candidate]!(sum, ...factors);
}

function sizes(
  a: NativeTensor,
  b: NativeTensor,
  transposeA: boolean,
  transposeB: boolean,
): readonly [m: number, k: number, n: number] {
  const [m, k] = transposeA ? [a.shape[1]!, a.shape[0]!] : [a.shape[0]!, a.shape[1]!];
  return [m, k, transposeB ? b.shape[0]! : b.shape[1]!];
}

/** log₂, rounded down; 0 for sizes of 0 and 1. */
function power(size: number): number {
  return size > 1 ? 31 - Math.clz32(size) : 0;
}
