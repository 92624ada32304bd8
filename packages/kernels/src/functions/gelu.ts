import { add, erf, mul, tanh, type Tensor } from '@tensorflow/tfjs-core';
import { AccError, checkKeys } from '@acc/contract';
import { operator } from '@acc/native';
import { activeSlots } from '../slots.js';
import { requireFloat } from './check-input.js';
import { backTo, inFloat32 } from './float32.js';
import { fusedFunction } from './fused-function.js';

export interface GeluOptions {
  /** `tanh` approximates Φ with tanh, as GPT-2 does. Default `none`: Φ by the error function. */
  readonly approximate?: 'none' | 'tanh';
}

interface Attrs {
  readonly approximate: 'none' | 'tanh';
}

const forward = operator('acc::gelu');
const backward = operator('acc::gelu_backward');

export const geluFunction = fusedFunction<Attrs>({
  kernelName: 'AccGelu',
  needsOutput: false,
  forward: ({ inputs: [x], attrs, backend }) =>
    backend.wrap(forward(backend.native(x!), attrs.approximate), 'float32'),
  backward: ({ dy, inputs: [x], attrs, backend }) => {
    const [nativeDy, nativeX] = [backend.native(dy), backend.native(x!)];
    if (nativeDy.dtype === nativeX.dtype) {
      return [backend.wrap(backward(nativeDy, nativeX, attrs.approximate), 'float32')];
    }
    const dx = inFloat32([nativeDy, nativeX], ([dy, x]) => backward(dy!, x!, attrs.approximate));
    return [backend.wrap(backTo(nativeX.dtype, dx), 'float32')];
  },
  plain: ([x], { approximate }) => (approximate === 'tanh' ? byTanh(x!) : byErf(x!)),
});

/**
 * The Gaussian error linear unit, x·Φ(x), element by element (Hendrycks and Gimpel 2016). On `acc`,
 * one native kernel forward and one backward. Caller disposes.
 *
 * @param x float32 of any shape.
 * @throws AccError `ACC_DTYPE_UNSUPPORTED`, `ACC_UNKNOWN_OPTION`, `ACC_INVALID_OPTION`.
 */
export function gelu<T extends Tensor>(x: T, options: GeluOptions = {}): T {
  checkKeys('gelu', options, ['approximate']);
  const { approximate = 'none' } = options;
  if (approximate !== 'none' && approximate !== 'tanh') {
    throw new AccError(
      'ACC_INVALID_OPTION',
      `gelu: approximate is '${String(approximate)}'; expected 'none' or 'tanh'.`,
      {
        help: "Choose 'none' or 'tanh'.",
      },
    );
  }
  requireFloat('gelu', 'x', x);
  const fused = activeSlots().functions?.gelu?.(x, approximate);
  return (fused ?? geluFunction.plain([x], { approximate })) as T;
}

function byErf(x: Tensor): Tensor {
  return mul(x, mul(add(erf(mul(x, Math.SQRT1_2)), 1), 0.5));
}

/** x/2 · (1 + tanh(√(2/π) · (x + 0.044715·x³))) */
function byTanh(x: Tensor): Tensor {
  const inner = mul(add(mul(mul(mul(x, x), x), 0.044715), x), Math.sqrt(2 / Math.PI));
  return mul(mul(x, 0.5), add(tanh(inner), 1));
}
