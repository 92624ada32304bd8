import type { TensorInfo } from '@tensorflow/tfjs-core';
import type { Activation } from './activation.js';

export interface MatMulAttrs {
  readonly transposeA: boolean;
  readonly transposeB: boolean;
  readonly activation?: Activation;
  readonly leakyreluAlpha?: number | undefined;
}

export interface MatMulInputs {
  readonly a: TensorInfo;
  readonly b: TensorInfo;
  readonly bias?: TensorInfo | undefined;
  readonly preluActivationWeights?: TensorInfo | undefined;
}
