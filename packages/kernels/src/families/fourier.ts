import type { TensorInfo } from '@tensorflow/tfjs-core';
import { operator } from '@acc/native';
import type { AccBackend } from '../backend.js';

const transform = operator('aten::_fft_c2c');
const clone = operator('aten::clone');

const Normalization = { none: 0, byLength: 2 } as const;

/**
 * The discrete Fourier transform of complex64 along the last dim. The inverse is divided by the
 * length.
 */
export function fourierTransform(
  backend: AccBackend,
  input: TensorInfo,
  { inverse }: { readonly inverse: boolean },
): TensorInfo {
  const native = backend.native(input);
  // libtorch rejects empty tensors.
  if (input.shape.includes(0)) return backend.wrap(clone(native), 'complex64');
  const normalization = inverse ? Normalization.byLength : Normalization.none;
  return backend.wrap(transform(native, [input.shape.length - 1], normalization, !inverse), 'complex64');
}
