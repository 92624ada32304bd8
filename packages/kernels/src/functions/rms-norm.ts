import { add, mean, mul, rsqrt, square, type Tensor } from '@tensorflow/tfjs-core';
import { checkKeys, type NormSettings } from '@acc/contract';
import { operator, operatorInPlace, operatorWithResults, type Tensor as NativeTensor } from '@acc/native';
import { activeSlots } from '../slots.js';
import { requireFloat, requireShape } from './check-input.js';
import { backTo, inFloat32 } from './float32.js';
import { fusedFunction } from './fused-function.js';
import { isShortNorm, shortNorm, shortNormGradients } from './short-norm.js';
import { lastDims, normalizedDims, overLastDims } from './normalized-dims.js';

export interface RmsNormOptions {
  /** Added to the mean square. Default 1e-6. */
  readonly epsilon?: number;
  /** The dim or dims to normalise. Negative values count from the end. Default -1. */
  readonly axis?: number | readonly number[];
}

const vectorNorm = operator('aten::linalg_vector_norm');
const multiply = operator('aten::mul.Tensor');
const multiplyInPlace = operatorInPlace('aten::mul_.Tensor');
const squareInPlace = operatorInPlace('aten::square_');
const scale = operatorInPlace('aten::mul_.Scalar');
const addScalar = operatorInPlace('aten::add_.Scalar');
const addInPlace = operatorInPlace('aten::add_.Tensor');
const inverseRoot = operatorInPlace('aten::rsqrt_');
const zerosLike = operator('aten::zeros_like');
const sum = operator('aten::sum.dim_IntList');
const reshape = operator('aten::reshape');
const matrixByVector = operator('aten::mv');
const layerNormBackward = operatorWithResults('aten::native_layer_norm_backward');

export const rmsNormFunction = fusedFunction<NormSettings>({
  kernelName: 'AccRmsNorm',
  needsOutput: false,
  keepsFirst: (backend, output) => !isShortNorm(backend, output),
  forward({ inputs, attrs, backend, isTaped }) {
    const [x, gain] = inputs.map((input) => backend.native(input)) as [NativeTensor, NativeTensor?];
    const short = isTaped && shortNorm(backend, { x, gain: gain ?? null, bias: null }, attrs, false);
    if (short) return short;
    const [y, rstd] = inFloat32([x, gain ?? null], ([x, gain]) => normalized(x!, gain!, attrs));
    const output = backend.wrap(backTo(x.dtype, y), 'float32');
    if (isTaped) backend.attach(output, [rstd]);
    else rstd.dispose();
    return output;
  },
  backward({ dy, inputs, output, attrs, backend }) {
    if (isShortNorm(backend, output)) {
      return shortNormGradients(backend, { dy, output, gain: inputs[1], hasBias: false }, attrs, false);
    }
    const [x, gain] = inputs.map((input) => backend.native(input)) as [NativeTensor, NativeTensor?];
    const [rstd] = backend.attached(output) as [NativeTensor];
    const [dx, dgain] = inFloat32([backend.native(dy), x, gain ?? null], ([dy, x, gain]) =>
      gradients(dy!, x!, gain!, rstd, attrs),
    );
    return [backTo(x.dtype, dx), ...(dgain ? [dgain] : [])].map((grad) => backend.wrap(grad, 'float32'));
  },
  plain([x, gain], { epsilon, dims }) {
    const axes = Array.from({ length: dims }, (_, i) => i - dims);
    const y = mul(x!, rsqrt(add(mean(square(x!), axes, true), epsilon)));
    return gain ? mul(y, gain) : y;
  },
});

/**
 * Root mean square normalisation: x / √(mean(x²) + ε) · gain, over the dims `axis` (Zhang and
 * Sennrich 2019). On `acc`, a few native calls forward and backward; the mean square is float32
 * even for 16-bit values. Caller disposes.
 *
 * @param x float32 of any shape.
 * @param gain Has the shape of the normalised dims, in the order of `axis`. Default: 1.
 * @throws AccError `ACC_DTYPE_UNSUPPORTED`, `ACC_SHAPE_MISMATCH`, `ACC_AXIS_OUT_OF_RANGE`,
 * `ACC_UNKNOWN_OPTION`.
 */
export function rmsNorm<T extends Tensor>(x: T, gain?: Tensor | null, options: RmsNormOptions = {}): T {
  checkKeys('rmsNorm', options, ['epsilon', 'axis']);
  const { epsilon = 1e-6, axis = -1 } = options;
  requireFloat('rmsNorm', 'x', x);
  const axes = normalizedDims('rmsNorm', x, axis);
  if (gain) {
    requireFloat('rmsNorm', 'gain', gain);
    requireShape(
      'rmsNorm',
      'gain',
      gain,
      axes.map((dim) => x.shape[dim]!),
    );
  }
  const settings: NormSettings = { epsilon, dims: axes.length };
  return overLastDims(x, axes, (turned) => {
    const fused = activeSlots().functions?.rmsNorm?.(turned, gain ?? undefined, settings);
    return fused ?? rmsNormFunction.plain(gain ? [turned, gain] : [turned], settings);
  }) as T;
}

/**
 * Returns the result, and 1 / √(mean(x²) + ε) with the normalised dims kept at length 1. Caller
 * disposes both.
 */
function normalized(
  x: NativeTensor,
  gain: NativeTensor | null,
  { epsilon, dims }: NormSettings,
): [y: NativeTensor, rstd: NativeTensor] {
  const shape = lastDims(x.shape, dims);
  const axes = shape.map((_, i) => i - dims);
  const rstd = vectorNorm(x, 2, axes, true);
  squareInPlace(rstd);
  scale(rstd, 1 / elements(shape));
  addScalar(rstd, epsilon);
  inverseRoot(rstd);
  const y = multiply(x, rstd);
  if (gain) multiplyInPlace(y, gain);
  return [y, rstd];
}

/**
 * With g = dy·gain and n = x·rstd: dx = rstd·(g − n·mean(g·n)) and dgain = Σ dy·n. With a mean of
 * 0, libtorch's gradient of layer normalisation returns dgain and rstd·(g − mean(g) − n·mean(g·n))
 * in one pass over memory. Adding rstd·mean(g) to the latter gives dx.
 */
function gradients(
  dy: NativeTensor,
  x: NativeTensor,
  gain: NativeTensor | null,
  rstd: NativeTensor,
  { dims }: NormSettings,
): [dx: NativeTensor, dgain: NativeTensor | null] {
  const shape = lastDims(x.shape, dims);
  using zero = zerosLike(rstd);
  const mask = [true, gain !== null, false];
  const [dx, dgain] = layerNormBackward(dy, x, shape, zero, rstd, gain, null, mask) as [
    NativeTensor,
    NativeTensor | null,
  ];
  using total = gain
    ? sumOfProducts(dy, gain, rstd.shape)
    : sum(
        dy,
        shape.map((_, i) => i - dims),
        true,
      );
  multiplyInPlace(total, rstd);
  addInPlace(dx, total, 1 / elements(shape));
  return [dx, dgain];
}

/** Computes Σ dy·gain over the last dims; the result has shape `shape`. Caller disposes. */
function sumOfProducts(dy: NativeTensor, gain: NativeTensor, shape: readonly number[]): NativeTensor {
  const width = elements(gain.shape);
  using rows = reshape(dy, [-1, width]);
  using column = reshape(gain, [width]);
  using total = matrixByVector(rows, column);
  return reshape(total, shape);
}

const elements = (shape: readonly number[]): number => shape.reduce((count, length) => count * length, 1);
