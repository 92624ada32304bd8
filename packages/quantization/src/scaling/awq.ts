import { tensorFrom, type Tensor } from '@acc/native';
import type { ChannelAxis } from '@acc/kernels';
import { div, mul, sub } from '../formats/operators.js';
import { outputPower } from '../gptq/hessian.js';
import { matrixOf } from '../matrix-of.js';
import type { WeightSettings } from '../options.js';
import type { ChannelStatistics } from './channel-statistics.js';

/** The exponents that are tried: 0, 1/20, … 19/20. */
const STEPS = 20;
/** The least scale before all are divided by their middle. */
const LEAST = 1e-4;

interface AwqInputs {
  /** Float64 `[columns, columns]`. */
  readonly hessian: Tensor;
  readonly channels: ChannelStatistics;
  readonly settings: WeightSettings;
  readonly axis: ChannelAxis;
}

/**
 * AWQ (Lin et al. 2023): the factors of the inputs with which the rounding of a matrix changes the results of the
 * product least. A column whose inputs have the mean magnitude m is multiplied with m^a before it is rounded, and
 * its inputs are divided by it, for one `a` from 0 to 0.95 for the whole layer.
 *
 * @param matrix Float32 `[rows, columns]`. Borrowed.
 * @returns Float32 `[columns]`, with which inputs are multiplied.
 */
export function awqScale(matrix: Tensor, { hessian, channels, settings, axis }: AwqInputs): Float32Array {
  const means = channels.means();
  let best: Float32Array | undefined;
  let smallest = Infinity;
  for (let step = 0; step < STEPS; step++) {
    const factors = inputFactors(means, step / STEPS);
    const error = errorWith(matrix, factors, { hessian, settings, axis });
    if (best && error >= smallest) continue;
    [best, smallest] = [factors, error];
  }
  return best!;
}

function inputFactors(means: Float64Array, exponent: number): Float32Array {
  const scales = means.map((mean) => Math.max(mean ** exponent, LEAST));
  const middle = Math.sqrt(scales.reduce((a, b) => Math.max(a, b)) * scales.reduce((a, b) => Math.min(a, b)));
  return Float32Array.from(scales, (scale) => middle / scale);
}

function errorWith(
  matrix: Tensor,
  factors: Float32Array,
  { hessian, settings, axis }: Omit<AwqInputs, 'channels'>,
): number {
  using ofInputs = tensorFrom(factors, 'float32', [factors.length]);
  using scaled = div(matrix, ofInputs);
  const packed = matrixOf(scaled, settings, { axis });
  try {
    using values = packed.values();
    using effective = mul(values, ofInputs);
    using errors = sub(matrix, effective);
    return outputPower(errors, hessian);
  } finally {
    for (const tensor of packed.tensors) tensor.dispose();
  }
}
