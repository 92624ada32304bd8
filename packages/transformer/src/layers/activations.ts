import { mul, relu, sigmoid, type Tensor } from '@tensorflow/tfjs-core';
import * as z from 'zod';
import { gelu } from '@acc/kernels';

/** The functions between the two matrices of a feed-forward layer, by the Hub's names. */
export const ACTIVATIONS = {
  gelu: (x: Tensor) => gelu(x),
  gelu_new: (x: Tensor) => gelu(x, { approximate: 'tanh' }),
  gelu_pytorch_tanh: (x: Tensor) => gelu(x, { approximate: 'tanh' }),
  relu,
  silu,
} satisfies Readonly<Record<string, (x: Tensor) => Tensor>>;

export type ActivationName = keyof typeof ACTIVATIONS;

export const ACTIVATION_NAMES = Object.keys(ACTIVATIONS) as [ActivationName, ...ActivationName[]];

/** x·σ(x) (Elfwing et al. 2017). */
export function silu(x: Tensor): Tensor {
  return mul(x, sigmoid(x));
}

const camelCased = (name: string): string =>
  name.replace(/_(\w)/g, (_, letter: string) => letter.toUpperCase());

/** The name of an activation. tfjs-layers turns names into camel case when it loads a model. */
export const activationSchema = z.preprocess(
  (given) => ACTIVATION_NAMES.find((name) => camelCased(name) === given) ?? given,
  z.enum(ACTIVATION_NAMES),
);
