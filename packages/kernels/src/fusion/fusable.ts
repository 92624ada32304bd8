import {
  elementwiseOperator,
  isFusableOperand,
  isFusableResult,
  type ElementwiseOperator,
  type FusionMode,
} from './elementwise-operators.js';
import type { Call, Graph } from './graph.js';

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
  if (mode === 'exact' && !operator.isExact) return 'the fused form rounds in another way';
  const result = values[call.results[0]!]!;
  const operands = call.uses.map((value) => values[value]!);
  if (!isFusableResult(result.dtype)) return `its result is ${result.dtype}`;
  const isConversion = call.op === 'aten::_to_copy';
  if (isConversion && result.dtype === 'bool' && operands[0]!.dtype !== 'bool') return 'it converts to bool';
  const other = operands.find(({ dtype }) => !isFusableOperand(dtype, operator.takesIntegers));
  if (other) return `it takes ${other.dtype}`;
  if (!result.isContiguous) return 'its result is not contiguous';
  const isMixed = result.dtype === 'bfloat16' && operands.some(({ dtype }) => dtype !== 'bfloat16');
  if (mode === 'exact' && isMixed && !isConversion) return 'it mixes dtypes';
  return operator;
}
