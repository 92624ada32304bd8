import type { FusedConv2DAttrs } from '@tensorflow/tfjs-core';
import { AccError } from '@acc/contract';
import { operator, operatorInPlace, type Tensor as NativeTensor } from '@acc/native';

/** tfjs's names of the activations of fused kernels. */
export type Activation = FusedConv2DAttrs['activation'];

export function isLinear(activation: Activation | null | undefined): boolean {
  return activation == null || activation === 'linear';
}

const relu = operatorInPlace('aten::relu_');
const clamp = operatorInPlace('aten::clamp_');
const elu = operatorInPlace('aten::elu_');
const sigmoid = operatorInPlace('aten::sigmoid_');
const leakyRelu = operatorInPlace('aten::leaky_relu_');
const prelu = operator('aten::_prelu_kernel');

/** The default slope of `tf.leakyRelu`. */
const LEAKY_RELU_ALPHA = 0.2;

export interface ActivationOptions {
  /** Slopes of `prelu`. Their shape broadcasts to that of the activated tensor. */
  readonly alpha?: NativeTensor | undefined;
  /** Slope of `leakyrelu`. */
  readonly leakyreluAlpha?: number | undefined;
}

/**
 * Applies the activation of a fused kernel. Takes ownership of `x`, which nothing else may share,
 * and works in its memory if possible. Caller disposes the result.
 *
 * @throws AccError `ACC_ACTIVATION_UNKNOWN`.
 */
export function activated(
  x: NativeTensor,
  activation: Activation | null | undefined,
  { alpha, leakyreluAlpha = LEAKY_RELU_ALPHA }: ActivationOptions,
): NativeTensor {
  switch (activation) {
    case null:
    case undefined:
    case 'linear':
      break;
    case 'relu':
      relu(x);
      break;
    case 'relu6':
      clamp(x, 0, 6);
      break;
    case 'elu':
      elu(x);
      break;
    case 'sigmoid':
      sigmoid(x);
      break;
    case 'leakyrelu':
      leakyRelu(x, leakyreluAlpha);
      break;
    case 'prelu':
      return preluOf(x, alpha);
    default:
      x.dispose();
      throw new AccError(
        'ACC_ACTIVATION_UNKNOWN',
        `Fused kernels do not support the activation '${String(activation)}'.`,
        {
          help: 'Use linear, relu, relu6, elu, prelu, leakyrelu or sigmoid.',
          details: { activation },
        },
      );
  }
  return x;
}

function preluOf(x: NativeTensor, alpha: NativeTensor | undefined): NativeTensor {
  using held = x;
  if (!alpha) {
    throw new AccError(
      'ACC_ACTIVATION_UNKNOWN',
      "The activation 'prelu' needs weights, but none were given.",
      {
        help: 'Give preluActivationWeights.',
      },
    );
  }
  return prelu(held, alpha);
}
