import type { TensorInfo } from '@tensorflow/tfjs-core';
import type { Activation } from './activation.js';

/**
 * The three products of a layer, of which an 8-bit product is one. The gradient of a result, which is factor
 * `a` or `b`, is rounded at random.
 */
export type Int8Product = 'forward' | 'inputGradient' | 'weightGradientA' | 'weightGradientB';

export interface MatMulAttrs {
  readonly transposeA: boolean;
  readonly transposeB: boolean;
  readonly activation?: Activation;
  readonly leakyreluAlpha?: number | undefined;
  /** Both factors are rounded to 8-bit integers. They are matrices of any float types. */
  readonly int8?: Int8Product | undefined;
  /** Mixed precision does not round the factors to 8-bit integers. */
  readonly without8Bits?: boolean | undefined;
  /** The seed of random rounding. */
  readonly int8Seed?: number | undefined;
}

export interface MatMulInputs {
  readonly a: TensorInfo;
  readonly b: TensorInfo;
  readonly bias?: TensorInfo | undefined;
  readonly preluActivationWeights?: TensorInfo | undefined;
}
