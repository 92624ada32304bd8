import {
  elementwiseOperator,
  isExact,
  isFloat,
  isFusableOperand,
  isFusableResult,
  type ElementwiseOperator,
  type FusionMode,
} from './elementwise-operators.js';
import type { Call, Graph, Value } from './graph.js';
import { isRowOperator, rowForm, type RowForm } from './row-operators.js';

/** Views that keep the elements and their order. */
const RESHAPES = new Set(['aten::reshape', 'aten::view', 'aten::unsqueeze', 'aten::squeeze.dim']);

/** Whether a call only changes the shape of a tensor. */
export const isReshape = ({ op }: Call): boolean => RESHAPES.has(op);

/** Whether a call only changes the shape of a tensor, or broadcasts it. A program copies nothing for it. */
export const isShapeOnly = (call: Call): boolean => isReshape(call) || call.op === 'aten::expand';

/** How a call is part of a program. */
export type FusedForm =
  | { readonly kind: 'shape' }
  | ({ readonly kind: 'elementwise' } & ElementwiseOperator)
  | ({ readonly kind: 'row' } & RowForm);

/** How a call is part of a program, or why it cannot be. */
export function fusedForm(call: Call, graph: Graph, mode: FusionMode): FusedForm | string {
  if (call.effect === 'writes') return 'it writes in place';
  if (isShapeOnly(call)) return { kind: 'shape' };
  if (!isRowOperator(call.op)) {
    const operator = elementwiseForm(call, graph, mode);
    return typeof operator === 'string' ? operator : { kind: 'elementwise', ...operator };
  }
  if (mode === 'exact') return OTHER_ROUNDING;
  const form = reasonOfDtypes(call, graph, false) ?? rowForm(call, graph);
  return typeof form === 'string' ? form : { kind: 'row', ...form };
}

const OTHER_ROUNDING = 'the fused form rounds in another way';

function elementwiseForm(call: Call, graph: Graph, mode: FusionMode): ElementwiseOperator | string {
  const { values } = graph;
  const operator = elementwiseOperator(call.op);
  if (!operator) return 'it has no elementwise form';
  if (!(operator.accepts?.(call.args) ?? true)) return 'its arguments have no elementwise form';
  const result = values[call.results[0]!]!;
  const operands = call.uses.map((value) => values[value]!);
  const dtypes = [result, ...operands].map(({ dtype }) => dtype);
  if (mode === 'exact' && !isExact(operator, dtypes, graph.isOnHost)) return OTHER_ROUNDING;
  const reason = reasonOfDtypes(call, graph, operator.takesIntegers);
  if (reason) return reason;
  if (result.dtype === 'bool' && call.op === 'aten::_to_copy' && operands[0]!.dtype !== 'bool') {
    return 'it converts to bool';
  }
  // In a program, true + true is 2.
  if (result.dtype === 'bool' && call.op === 'aten::add.Tensor') return 'it adds bools';
  return operator;
}

/** Why programs cannot take the operands of a call or give its result. */
function reasonOfDtypes(
  { uses, results }: Call,
  { values }: Graph,
  takesIntegers = false,
): string | undefined {
  const result = values[results[0]!]!;
  if (!isFusableResult(result.dtype)) return `its result is ${result.dtype}`;
  const other = uses
    .map((value) => values[value]!)
    .find(({ dtype }) => !isFusableOperand(dtype, takesIntegers));
  if (other) return `it takes ${other.dtype}`;
  return result.isContiguous ? undefined : 'its result is not contiguous';
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
