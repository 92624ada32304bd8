import { grads, mul, sin, sum, tensor, util, type Tensor } from '@tensorflow/tfjs-core';

/** Values in [-1, 1) that are the same in every run. */
export function wave(shape: readonly number[], seed = 0): Tensor {
  const size = util.sizeFromShape([...shape]);
  const values = Float32Array.from({ length: size }, (_, i) => Math.sin(1.7 * i + 12.9 * seed + (i % 7)));
  return tensor(values, [...shape]);
}

/**
 * The value of `f` at `inputs`, then the gradients of a weighted sum of this value. Caller
 * disposes.
 */
export function valueAndGradients(f: (...inputs: Tensor[]) => Tensor, inputs: Tensor[]): Tensor[] {
  const value = f(...inputs);
  const weights = wave(value.shape, 5);
  return [value, ...grads((...xs: Tensor[]) => sum(mul(f(...xs), weights)))(inputs)];
}

/** Second derivatives: gradients of the sum of the sine of `f`'s gradients. Caller disposes. */
export function secondGradients(f: (...inputs: Tensor[]) => Tensor, inputs: Tensor[]): Tensor[] {
  const first = (...xs: Tensor[]): Tensor => {
    const all = grads((...ys: Tensor[]) => sum(sin(f(...ys))))(xs);
    return all.map((dx, i) => sum(mul(sin(dx), i + 1))).reduce((a, b) => a.add(b));
  };
  return grads(first)(inputs);
}
