import type { TensorInfo } from '@tensorflow/tfjs-core';
import type { NormSettings } from '@acc/contract';
import { operatorWithResults, type Tensor as NativeTensor } from '@acc/native';
import type { AccBackend } from '../backend.js';
import { keptDtype } from '../precision/kept.js';

const forward = operatorWithResults('acc::norm');
const backward = operatorWithResults('acc::norm_backward');

/** Inputs of both normalisations. */
interface NormInputs {
  readonly x: NativeTensor;
  readonly gain: NativeTensor | null;
  readonly bias: NativeTensor | null;
}

/**
 * Normalises `x` in mixed precision and attaches the normalised values to the result in 16 bits, so
 * that x is not kept for the gradient. Returns undefined if x must be kept as it is: outside mixed
 * precision, or if an input is not float32.
 *
 * @param isCentred Whether to subtract the mean, as layer normalisation does.
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

/**
 * Whether the 16-bit normalised values are attached to `output`. The saved x then has no values.
 */
export function isShortNorm(backend: AccBackend, output: TensorInfo): boolean {
  const [shard = output] = backend.shardsOf(output)?.shards ?? [];
  return backend.attached(shard)[0]!.dtype !== 'float32';
}

/** Inputs of the gradients of a short norm. */
interface ShortNormGradientInputs {
  readonly dy: TensorInfo;
  readonly output: TensorInfo;
  readonly gain: TensorInfo | undefined;
  readonly hasBias: boolean;
}

/** The gradients of x, then of gain and bias if they exist. */
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
