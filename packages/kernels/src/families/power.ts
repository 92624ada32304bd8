import type { TensorInfo } from '@tensorflow/tfjs-core';
import { operator, operatorInPlace, type Tensor as NativeTensor } from '@acc/native';
import type { AccBackend } from '../backend.js';
import { elementwiseOperator, type ElementwiseOperator } from '../fusion/elementwise-operators.js';
import { constantOf } from '../host-constants.js';
import { waiting } from '../pending/defer.js';

const power = operator('aten::pow.Tensor_Scalar');
const root = operator('acc::sqrt');
const inverseRoot = operator('acc::rsqrt');
const scale = operatorInPlace('aten::mul_.Scalar');
const multiply = operatorInPlace('aten::mul_.Tensor');

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

/** {@link toConstantPower} for a kernel, which is computed when it is read if it can wait. */
export function constantPower(backend: AccBackend, x: TensorInfo, exponent: number): TensorInfo {
  const form = formOf(exponent);
  const alone = ([base]: readonly TensorInfo[]) =>
    backend.wrap(toConstantPower(backend.native(base!), exponent), 'float32');
  return (form && waiting(backend, { form, args: [NaN, exponent], alone }, [x])) ?? alone([x]);
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

/** The gradient of {@link toConstantPower} for `dy` and `x`, as {@link constantPower}. */
export function constantPowerGradient(
  backend: AccBackend,
  inputs: readonly [dy: TensorInfo, x: TensorInfo],
  exponent: number,
): TensorInfo {
  const alone = ([dy, x]: readonly TensorInfo[]) => {
    const result = toConstantPower(backend.native(x!), exponent - 1);
    scale(result, exponent);
    multiply(result, backend.native(dy!));
    return backend.wrap(result, 'float32');
  };
  const hasForm = exponent === 2 || formOf(exponent - 1) !== undefined;
  const operator = { form: gradient, args: [NaN, exponent], alone };
  return (hasForm ? waiting(backend, operator, inputs) : undefined) ?? alone(inputs);
}
