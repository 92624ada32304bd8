import {
  elementwiseOperator,
  isFloat,
  isFusableOperand,
  isFusableResult,
  type ElementwiseOperator,
  type FusionMode,
} from './elementwise-operators.js';
import type { Call, Graph, Value } from './graph.js';

/** Views that keep the elements and their order. */
const RESHAPES = new Set(['aten::reshape', 'aten::view', 'aten::unsqueeze', 'aten::squeeze.dim']);

/** Whether a call only changes the shape of a tensor. */
export const isReshape = ({ op }: Call): boolean => RESHAPES.has(op);

/** How a call is part of a program, or why it cannot be. */
export function elementwiseForm(
  call: Call,
  { values }: Graph,
  mode: FusionMode,
): ElementwiseOperator | string {
  const operator = elementwiseOperator(call.op);
  if (!operator) return 'it has no elementwise form';
  if (!(operator.accepts?.(call.args) ?? true)) return 'its arguments have no elementwise form';
  const result = values[call.results[0]!]!;
  const isExact = operator.isExact === true || operator.isExact === result.dtype;
  if (mode === 'exact' && !isExact) return 'the fused form rounds in another way';
  const operands = call.uses.map((value) => values[value]!);
  if (!isFusableResult(result.dtype)) return `its result is ${result.dtype}`;
  if (result.dtype === 'bool' && call.op === 'aten::_to_copy' && operands[0]!.dtype !== 'bool') {
    return 'it converts to bool';
  }
  // In a program, true + true is 2.
  if (result.dtype === 'bool' && call.op === 'aten::add.Tensor') return 'it adds bools';
  const other = operands.find(({ dtype }) => !isFusableOperand(dtype, operator.takesIntegers));
  if (other) return `it takes ${other.dtype}`;
  if (!result.isContiguous) return 'its result is not contiguous';
  return operator;
}

/**
 * Whether libtorch computes in bfloat16, and rounds float32 operands to it. Tensors without dims
 * decide only among themselves.
 */
export function computesInBfloat16(operands: readonly Value[]): boolean {
  const floats = operands.filter(({ dtype }) => isFloat(dtype));
  const withDims = floats.filter(({ shape }) => shape.length > 0);
  const deciding = withDims.length > 0 ? withDims : floats;
  return deciding.length > 0 && deciding.every(({ dtype }) => dtype === 'bfloat16');
}
