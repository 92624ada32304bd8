import type { BinaryInputs, DataType, KernelConfig, TensorInfo, UnaryInputs } from '@tensorflow/tfjs-core';
import { AccError } from '@acc/contract';
import { operator, type Tensor as NativeTensor } from '@acc/native';
import type { AccBackend } from '../backend.js';
import { elementwiseOperator, type ElementwiseOperator } from '../fusion/elementwise-operators.js';
import { kernel } from '../kernel.js';
import { waitingKernel } from '../pending/defer.js';
import { toDtype, wrapElements } from './conversion.js';

/** tfjs dtypes that a computation accepts directly; {@link converted} handles the others. */
export type Accepted = readonly DataType[];
export const FLOATS: Accepted = ['float32'];
export const NUMBERS: Accepted = ['float32', 'int32'];
export const REALS: Accepted = ['float32', 'int32', 'bool'];
export const FLOATS_AND_COMPLEX: Accepted = ['float32', 'complex64'];
export const NUMBERS_AND_COMPLEX: Accepted = ['float32', 'int32', 'complex64'];
export const ALL: Accepted = ['float32', 'int32', 'bool', 'complex64'];

type UnaryCompute = (x: NativeTensor) => NativeTensor;
type BinaryCompute = (a: NativeTensor, b: NativeTensor) => NativeTensor;

/**
 * A kernel of one input. The result has the input's shape.
 *
 * @param compute libtorch's operator, by name or as a function of native tensors.
 * @param resultDtype Default: that of the input.
 */
export function unaryKernel(
  kernelName: string,
  compute: string | UnaryCompute,
  accepted: Accepted,
  resultDtype?: DataType,
): KernelConfig {
  const form = formOf(compute, resultDtype);
  const run = typeof compute === 'string' ? operator(compute) : compute;
  const config = kernel<UnaryInputs>(kernelName, ({ inputs: { x }, backend }) =>
    applyUnary(backend, x, run, accepted, resultDtype),
  );
  return form ? waitingKernel(config, form) : config;
}

/**
 * A kernel of two inputs that broadcast against each other.
 *
 * @param compute libtorch's operator, by name or as a function of native tensors.
 * @param resultDtype Default: that of `a`.
 */
export function binaryKernel(
  kernelName: string,
  compute: string | BinaryCompute,
  accepted: Accepted,
  resultDtype?: DataType,
): KernelConfig {
  const form = formOf(compute, resultDtype);
  const run = typeof compute === 'string' ? operator(compute) : compute;
  const config = kernel<BinaryInputs>(kernelName, ({ inputs: { a, b }, backend }) =>
    applyBinary(backend, a, b, run, accepted, resultDtype),
  );
  return form ? waitingKernel(config, form) : config;
}

/** The form of an operator on floats in fused programs. Undefined if it has none. */
function formOf(compute: unknown, resultDtype: DataType | undefined): ElementwiseOperator | undefined {
  const isOfFloats = resultDtype === undefined || resultDtype === 'float32';
  return typeof compute === 'string' && isOfFloats ? elementwiseOperator(compute) : undefined;
}

/**
 * Runs the computation of {@link unaryKernel}; for kernels with attributes. Borrows `x`; the caller
 * owns the result.
 */
export function applyUnary(
  backend: AccBackend,
  x: TensorInfo,
  compute: UnaryCompute,
  accepted: Accepted,
  resultDtype: DataType = x.dtype,
): TensorInfo {
  const native = backend.native(x);
  if (accepted.includes(x.dtype)) return wrapElements(backend, compute(native), resultDtype);
  using input = converted(native, x.dtype, accepted);
  return wrapElements(backend, compute(input), resultDtype);
}

/**
 * Runs the computation of {@link binaryKernel}. Borrows `a` and `b`; the caller owns the result.
 */
export function applyBinary(
  backend: AccBackend,
  a: TensorInfo,
  b: TensorInfo,
  compute: BinaryCompute,
  accepted: Accepted,
  resultDtype: DataType = a.dtype,
): TensorInfo {
  const nativeA = backend.native(a);
  const nativeB = backend.native(b);
  if (accepted.includes(a.dtype) && (a.dtype === b.dtype || accepted.includes(b.dtype))) {
    return wrapElements(backend, compute(nativeA, nativeB), resultDtype);
  }
  using inputA = converted(nativeA, a.dtype, accepted);
  using inputB = converted(nativeB, b.dtype, accepted);
  return wrapElements(backend, compute(inputA, inputB), resultDtype);
}

/**
 * Converts the input to a dtype that the computation accepts: booleans to integers if integers are
 * accepted; other integers and booleans to float64, which holds every int32. A result that is cut
 * to an integer then equals tfjs's result in JavaScript numbers.
 */
function converted(native: NativeTensor, dtype: DataType, accepted: Accepted): NativeTensor {
  if (accepted.includes(dtype)) return native.alias();
  if (dtype === 'complex64') {
    throw new AccError('ACC_DTYPE_UNSUPPORTED', 'complex64 is not supported by this operation.', {
      help: 'Use tf.real, tf.imag or tf.abs of the tensor.',
      details: { dtype, accepted },
    });
  }
  return toDtype(native, dtype === 'bool' && accepted.includes('int32') ? 'int32' : 'float64');
}
