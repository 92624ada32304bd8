import type { Variable } from '@tensorflow/tfjs-core';
import { unpackedOf, type ChannelAxis } from '@acc/kernels';
import type { Tensor as NativeTensor } from '@acc/native';
import { notPositiveDefinite } from '../calibration/errors.js';
import { Int4Matrix } from '../formats/int4.js';
import { Int8Matrix } from '../formats/int8.js';
import { sub } from '../formats/operators.js';
import type { InputRange, PackedMatrix } from '../formats/packed-matrix.js';
import { int4Options } from '../matrix-of.js';
import type { WeightSettings } from '../options.js';
import { asMatrix } from '../storage.js';
import { gptq } from './gptq.js';
import { outputPower } from './hessian.js';
import type { FactorOptions } from './factor.js';

/** How a weight is packed by GPTQ. */
export interface GptqPacking {
  readonly name: string;
  readonly axis: ChannelAxis;
  readonly settings: WeightSettings;
  readonly factor: FactorOptions;
  readonly range: InputRange | undefined;
}

/** Packs a matrix `[channels, others]`, which it borrows. @throws AccError `ACC_CALIBRATION_DATA`. */
export function gptqMatrix(
  matrix: NativeTensor,
  hessian: NativeTensor,
  { name, axis, settings, factor, range }: GptqPacking,
): PackedMatrix {
  const { granularity, activations } = settings;
  const weights = settings.weights as 'int8' | 'int4';
  try {
    using result = gptq(matrix, hessian, { weights, granularity, ...factor });
    const { numbers, scales, zeros } = result;
    return zeros
      ? Int4Matrix.ofNumbers(numbers, { scales, zeros }, int4Options(granularity, axis))
      : Int8Matrix.ofNumbers(numbers, scales, { granularity, dynamic: activations === 'dynamic', range });
  } catch (error) {
    if (/linalg\.cholesky|positive-definite/.test(String(error))) throw notPositiveDefinite(name, error);
    throw error;
  }
}

/** Sums of squares of a layer's results for its calibration inputs, and of the errors in them. */
export interface OutputPowers {
  readonly signal: number;
  readonly noise: number;
}

/** @param before The values of the weight, as a matrix. @param after The weight as it is packed. */
export function outputPowers(
  before: NativeTensor,
  { after, axis }: { readonly after: Variable; readonly axis: ChannelAxis },
  hessian: NativeTensor,
): OutputPowers {
  using values = unpackedOf(after)!;
  using rows = asMatrix(values, axis);
  using errors = sub(before, rows);
  return { signal: outputPower(before, hessian), noise: outputPower(errors, hessian) };
}
