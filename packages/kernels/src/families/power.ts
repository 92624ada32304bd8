import type { TensorInfo } from '@tensorflow/tfjs-core';
import { operator, type Tensor as NativeTensor } from '@acc/native';
import type { AccBackend } from '../backend.js';
import { elementwiseOperator, type ElementwiseOperator } from '../fusion/elementwise-operators.js';
import { constantOf } from '../host-constants.js';
import { waiting } from '../pending/defer.js';

const power = operator('aten::pow.Tensor_Scalar');
const root = operator('acc::sqrt');
const inverseRoot = operator('acc::rsqrt');

/** The exponent, if it is known on the host and the power has the shape and dtype of `x`. */
export function constantExponent(x: TensorInfo, exponent: TensorInfo): number | undefined {
  if (x.dtype !== 'float32' || exponent.shape.length > x.shape.length) return undefined;
  return constantOf(exponent);
}

/**
 * x to a power that is known on the host. libtorch computes the powers 2, 3, 0.5, -0.5, -1 and -2
 * with products and roots, which takes a tenth of the time. Unlike IEEE 754's power, a root of
 * -Infinity is NaN, and a root of -0 has its sign. Caller disposes.
 */
export function toConstantPower(x: NativeTensor, exponent: number): NativeTensor {
  if (exponent === 0.5) return root(x);
  return exponent === -0.5 ? inverseRoot(x) : power(x, exponent);
}

/** The form of {@link toConstantPower} in programs. Undefined if it has none. */
function formOf(exponent: number): ElementwiseOperator | undefined {
  if (exponent === 0.5) return elementwiseOperator('acc::sqrt');
  if (exponent === -0.5) return elementwiseOperator('acc::rsqrt');
  const form = elementwiseOperator('aten::pow.Tensor_Scalar')!;
  return form.accepts!([null, exponent]) ? form : undefined;
}

/** {@link toConstantPower} that is computed when it is read. Undefined if it cannot wait. */
export function waitingPower(backend: AccBackend, x: TensorInfo, exponent: number): TensorInfo | undefined {
  const form = formOf(exponent);
  return form && waiting(backend, form, [x], [NaN, exponent]);
}

/** dy · n · xⁿ⁻¹ for `dy` and `x`; the second argument is n. */
const gradient: ElementwiseOperator = {
  emit: (program, [dy, x], [, n]) => {
    const exponent = Number(n) - 1;
    const power = exponent === 1 ? x! : formOf(exponent)!.emit(program, [x!], [null, exponent]);
    return program.step('mul', program.step('mul', power, program.constant(Number(n))), dy!);
  },
  isExact: 'float32',
};

/** The gradient of {@link toConstantPower}, as {@link waitingPower}. */
export const waitingPowerGradient = (
  backend: AccBackend,
  inputs: readonly [dy: TensorInfo, x: TensorInfo],
  exponent: number,
): TensorInfo | undefined =>
  exponent === 2 || formOf(exponent - 1) ? waiting(backend, gradient, inputs, [NaN, exponent]) : undefined;
