import type { TensorInfo } from '@tensorflow/tfjs-core';
import type { NormSettings } from '@acc/contract';
import { operatorWithResults, type Tensor as NativeTensor } from '@acc/native';
import type { AccBackend } from '../backend.js';
import { keptDtype } from '../precision/kept.js';

const forward = operatorWithResults('acc::norm');
const backward = operatorWithResults('acc::norm_backward');

/** What both normalisations take. */
interface NormInputs {
  readonly x: NativeTensor;
  readonly gain: NativeTensor | null;
  readonly bias: NativeTensor | null;
}

/**
 * In mixed precision: normalised, with the normalised values attached in 16 bits, so that x isn't kept for the gradient.
 * Undefined where x is to be kept as it is.
 *
 * @param isCentred Whether the mean is taken away: layer normalisation.
 */
export function shortNorm(
  backend: AccBackend,
  { x, gain, bias }: NormInputs,
  { dims, epsilon }: NormSettings,
  isCentred: boolean,
): TensorInfo | undefined {
  const kept = keptDtype();
  const isWide = [x, gain, bias].every((input) => input === null || input.dtype === 'float32');
  if (kept === undefined || !isWide) return undefined;
  const results = forward(x, dims, gain, bias, isCentred, epsilon, kept) as NativeTensor[];
  const [y, normalized, rstd] = results;
  const output = backend.wrap(y!, 'float32');
  backend.attach(output, [normalized!, rstd!]);
  return output;
}

/** Whether `output` has its normalised values attached: x has none then. */
export function isShortNorm(backend: AccBackend, output: TensorInfo): boolean {
  const [piece = output] = backend.piecesOf(output)?.pieces ?? [];
  return backend.attached(piece)[0]!.dtype !== 'float32';
}

/** What a short norm's gradients are made of. */
interface ShortNormGradientInputs {
  readonly dy: TensorInfo;
  readonly output: TensorInfo;
  readonly gain: TensorInfo | undefined;
  readonly hasBias: boolean;
}

/** The gradients of x, and of gain and bias where there are such, in this order. */
export function shortNormGradients(
  backend: AccBackend,
  { dy, output, gain, hasBias }: ShortNormGradientInputs,
  { dims }: NormSettings,
  isCentred: boolean,
): TensorInfo[] {
  const [normalized, rstd] = backend.attached(output);
  const weights = gain ? backend.native(gain) : null;
  const grads = backward(backend.native(dy), normalized, rstd, dims, weights, isCentred) as NativeTensor[];
  const isAskedFor = [true, gain !== undefined, hasBias];
  return grads.flatMap((grad, i) => {
    if (isAskedFor[i]) return backend.wrap(grad, 'float32');
    grad.dispose();
    return [];
  });
}
