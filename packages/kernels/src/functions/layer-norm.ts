import { add, mean, mul, rsqrt, square, sub, type Tensor } from '@tensorflow/tfjs-core';
import { checkKeys, type NormSettings } from '@acc/contract';
import { operatorWithResults, type Tensor as NativeTensor } from '@acc/native';
import { activeSlots } from '../slots.js';
import { requireFloat, requireShape } from './check-input.js';
import { backTo, inFloat32 } from './float32.js';
import { fusedFunction } from './fused-function.js';
import { isShortNorm, shortNorm, shortNormGradients } from './short-norm.js';
import { lastDims, normalizedDims, overLastDims } from './normalized-dims.js';

export interface LayerNormOptions {
  /** Added to the variance. Default 1e-5. */
  readonly epsilon?: number;
  /** The dim or dims to normalise. Negative values count from the end. Default -1. */
  readonly axis?: number | readonly number[];
}

interface Attrs extends NormSettings {
  readonly hasGain: boolean;
  readonly hasBias: boolean;
}

const forward = operatorWithResults('aten::native_layer_norm');
const backward = operatorWithResults('aten::native_layer_norm_backward');

type Native = NativeTensor | null;

export const layerNormFunction = fusedFunction<Attrs>({
  kernelName: 'AccLayerNorm',
  needsOutput: false,
  keepsFirst: (backend, output) => !isShortNorm(backend, output),
  forward({ inputs, attrs, backend, isTaped }) {
    const [x, gain, bias] = placed(
      inputs.map((input) => backend.native(input)),
      attrs,
    );
    const short = isTaped && shortNorm(backend, { x: x!, gain: gain!, bias: bias! }, attrs, true);
    if (short) return short;
    const shape = lastDims(x!.shape, attrs.dims);
    const [y, mean, rstd] = inFloat32([x!, gain!, bias!], (given) =>
      forward(given[0]!, shape, given[1]!, given[2]!, attrs.epsilon),
    ) as [NativeTensor, NativeTensor, NativeTensor];
    const output = backend.wrap(backTo(x!.dtype, y), 'float32');
    if (isTaped) {
      backend.attach(output, [mean, rstd]);
    } else {
      mean.dispose();
      rstd.dispose();
    }
    return output;
  },
  backward({ dy, inputs, output, attrs, backend }) {
    if (isShortNorm(backend, output)) {
      const gain = attrs.hasGain ? inputs[1] : undefined;
      return shortNormGradients(backend, { dy, output, gain, hasBias: attrs.hasBias }, attrs, true);
    }
    const [x, gain, bias] = placed(
      inputs.map((input) => backend.native(input)),
      attrs,
    );
    const [mean, rstd] = backend.attached(output) as [NativeTensor, NativeTensor];
    const shape = lastDims(x!.shape, attrs.dims);
    const grads = inFloat32([backend.native(dy), x!, gain!, bias!], ([dy, x, gain, bias]) =>
      backward(dy!, x!, shape, mean, rstd, gain!, bias!, [true, attrs.hasGain, attrs.hasBias]),
    ) as Native[];
    const [dx, ...others] = grads.filter((grad) => grad !== null);
    return [backTo(x!.dtype, dx!), ...others].map((grad) => backend.wrap(grad, 'float32'));
  },
  plain(inputs, attrs) {
    const [x, gain, bias] = placed(inputs, attrs);
    const axes = attrs.dims === 1 ? -1 : Array.from({ length: attrs.dims }, (_, i) => i - attrs.dims);
    const centred = sub(x!, mean(x!, axes, true));
    const variance = mean(square(centred), axes, true);
    let y = mul(centred, rsqrt(add(variance, attrs.epsilon)));
    if (gain) y = mul(y, gain);
    return bias ? add(y, bias) : y;
  },
});

/** Returns x, gain and bias; null for a missing one. */
function placed<T>(inputs: readonly T[], { hasGain, hasBias }: Attrs): readonly (T | null)[] {
  return [inputs[0]!, hasGain ? inputs[1]! : null, hasBias ? inputs.at(-1)! : null];
}

/**
 * Layer normalisation: (x − mean) / √(variance + ε) · gain + bias, with the mean and the biased
 * variance over the dims `axis` (Ba et al. 2016). On `acc`, one native kernel forward and one
 * backward; the statistics are float32 even for 16-bit values. Caller disposes.
 *
 * @param x float32 of any shape.
 * @param gain Has the shape of the normalised dims, in the order of `axis`. Default: 1.
 * @param bias Has the same shape as `gain`. Default: 0.
 * @throws AccError `ACC_DTYPE_UNSUPPORTED`, `ACC_SHAPE_MISMATCH`, `ACC_AXIS_OUT_OF_RANGE`,
 * `ACC_UNKNOWN_OPTION`.
 */
export function layerNorm<T extends Tensor>(
  x: T,
  gain?: Tensor | null,
  bias?: Tensor | null,
  options: LayerNormOptions = {},
): T {
  checkKeys('layerNorm', options, ['epsilon', 'axis']);
  const { epsilon = 1e-5, axis = -1 } = options;
  requireFloat('layerNorm', 'x', x);
  const axes = normalizedDims('layerNorm', x, axis);
  const shape = axes.map((dim) => x.shape[dim]!);
  for (const [name, weight] of Object.entries({ gain, bias })) {
    if (!weight) continue;
    requireFloat('layerNorm', name, weight);
    requireShape('layerNorm', name, weight, shape);
  }
  return overLastDims(x, axes, (turned) =>
    overDims(turned, gain ?? undefined, bias ?? undefined, { epsilon, dims: axes.length }),
  ) as T;
}

function overDims(
  x: Tensor,
  gain: Tensor | undefined,
  bias: Tensor | undefined,
  settings: NormSettings,
): Tensor {
  const fused = activeSlots().functions?.layerNorm?.(x, gain, bias, settings);
  return fused ?? layerNormFunction.plain(...layerNormCall(x, gain, bias, settings));
}

/** The inputs and attributes of {@link layerNormFunction}. */
export function layerNormCall(
  x: Tensor,
  gain: Tensor | undefined,
  bias: Tensor | undefined,
  { epsilon, dims }: NormSettings,
): [inputs: Tensor[], attrs: Attrs] {
  const inputs = [x];
  if (gain) inputs.push(gain);
  if (bias) inputs.push(bias);
  // Key by key: to spread an object takes microseconds here.
  return [inputs, { epsilon, dims, hasGain: gain !== undefined, hasBias: bias !== undefined }];
}
