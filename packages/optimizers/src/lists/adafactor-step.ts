import type { NativeTensor } from '@acc/contract';
import { operator, operatorInPlace, tensorFrom, type Tensor } from '@acc/native';
import { addScalar_, mul, Temporaries, type StepChunk, type TensorList } from '@acc/kernels/optimizer-steps';
import { norms, scaleEach_ } from './norms.js';

const mean = operator('aten::mean.dim');
const divide = operator('aten::div.Tensor');
const multiply = operator('aten::mul.Tensor');
const scale = operator('aten::mul.Scalar');
const squareRoot = operator('aten::sqrt');
const unsqueeze = operator('aten::unsqueeze');
const onesLike = operator('aten::ones_like');
const atLeast = operator('aten::clamp_min');
const mix = operatorInPlace('aten::lerp_.Scalar');

/** The constants of a step of Adafactor; see adafactor.ts. */
export interface AdafactorRates {
  readonly rho: number;
  readonly beta2: number;
  readonly epsilon1: number;
  readonly epsilon2: number;
  readonly clipThreshold: number;
  readonly scaleParameter: boolean;
}

/**
 * Updates the factors of v, `state[0]` and `state[1]`, with the gradients; returns u = g / √v.
 * Caller disposes.
 */
export function directionsOf(
  { grads, state: [rows, columns] }: StepChunk,
  { beta2, epsilon1 }: AdafactorRates,
): Temporaries {
  using squares = mul(grads, grads);
  addScalar_(squares.list, epsilon1);
  return new Temporaries(
    grads.map((grad, i) => {
      using root =
        grad.shape.length < 2
          ? rootOf(rows![i]!, squares.list[i]!, 1 - beta2)
          : rootOfFactors(rows![i]!, columns![i]!, squares.list[i]!, 1 - beta2);
      return divide(grad, root);
    }),
  );
}

/** Updates v with the squares; returns √v. Caller disposes. */
function rootOf(v: NativeTensor, squares: NativeTensor, weight: number): Tensor {
  mix(v, squares, weight);
  return squareRoot(v);
}

/** Updates r and c with the squares; returns √(r / mean(r)) ⊗ √c. Caller disposes. */
function rootOfFactors(r: NativeTensor, c: NativeTensor, squares: NativeTensor, weight: number): Tensor {
  using rowMeans = mean(squares, [-1]);
  using columnMeans = mean(squares, [-2]);
  mix(r, rowMeans, weight);
  mix(c, columnMeans, weight);
  using total = mean(r, [-1], true);
  using shares = divide(r, total);
  using rowRoots = squareRoot(shares);
  using columnRoots = squareRoot(c);
  using rows = unsqueeze(rowRoots, -1);
  using columns = unsqueeze(columnRoots, -2);
  return multiply(rows, columns);
}

/** u ← α / max(1, RMS(u) / d) · u, where α depends on the weights before the step. */
export function scaleDirections(
  weights: TensorList,
  directions: TensorList,
  { rho, epsilon2, clipThreshold, scaleParameter }: AdafactorRates,
): void {
  const perRoot = Float32Array.from(weights, ({ shape }) => 1 / Math.sqrt(elementCount(shape)));
  using fromNorms = tensorFrom(perRoot, 'float32', [perRoot.length]);
  using directionNorms = norms(directions);
  using directionRms = multiply(directionNorms, fromNorms);
  using excess = scale(directionRms, 1 / clipThreshold);
  using clips = atLeast(excess, 1);
  using sizes = scaleParameter ? sizesOf(weights, fromNorms, epsilon2) : onesLike(fromNorms);
  using changes = scale(sizes, rho);
  using factors = divide(changes, clips);
  scaleEach_(directions, factors);
}

/** max(ε₂, RMS(w)). Caller disposes. */
function sizesOf(weights: TensorList, fromNorms: NativeTensor, epsilon2: number): Tensor {
  using weightNorms = norms(weights);
  using weightRms = multiply(weightNorms, fromNorms);
  return atLeast(weightRms, epsilon2);
}

function elementCount(shape: readonly number[]): number {
  return shape.reduce((count, size) => count * size, 1);
}
