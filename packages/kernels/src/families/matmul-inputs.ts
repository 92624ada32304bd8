import type { TensorInfo } from '@tensorflow/tfjs-core';
import type { EightBitProduct, EightBitRounding } from '@acc/contract';
import type { Activation } from './activation.js';

/** How a product rounds its factors, and which product of a layer it is. */
export type EightBits = EightBitRounding & { readonly product: EightBitProduct };

export interface MatMulAttrs {
  readonly transposeA: boolean;
  readonly transposeB: boolean;
  readonly activation?: Activation;
  readonly leakyreluAlpha?: number | undefined;
  /** Both factors are rounded to 8 bits. They are matrices of any float types. */
  readonly eightBits?: EightBits | undefined;
  /** Mixed precision does not round the factors to 8 bits. */
  readonly without8Bits?: boolean | undefined;
}

export interface MatMulInputs {
  readonly a: TensorInfo;
  readonly b: TensorInfo;
  readonly bias?: TensorInfo | undefined;
  readonly preluActivationWeights?: TensorInfo | undefined;
  /** The history that scales of 8-bit floats come from. See `FACTOR_ROLES`. */
  readonly amaxes?: TensorInfo | undefined;
}
