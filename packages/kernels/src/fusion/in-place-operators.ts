import type { NativeDtype } from '@acc/contract';
import { isFloat } from './elementwise-operators.js';
import { isNewArgument, type Call, type Graph, type Value } from './graph.js';

/** Operators on each element, which follow torch's promotion of dtypes. Their results have the layout of `self`. */
const ELEMENTWISE = [
  ...['add', 'sub', 'mul', 'div', 'pow', 'lerp', 'addcmul', 'addcdiv'],
  ...['neg', 'abs', 'sign', 'square', 'reciprocal', 'sqrt', 'rsqrt', 'exp', 'expm1', 'log', 'log1p'],
  ...['sin', 'cos', 'tan', 'tanh', 'sigmoid', 'floor', 'ceil', 'round', 'trunc'],
  ...['relu', 'relu6', 'elu', 'leaky_relu', 'hardtanh', 'threshold', 'clamp', 'clamp_min', 'clamp_max'],
];
/** Operators that write what an index or a mask selects, in the dtype of `self`. Their results are contiguous. */
const SELECTIVE = ['masked_fill', 'scatter_add', 'index_add', 'index_copy', 'index_fill'];

/** Operators that add a product to a sum. Their results are contiguous. */
const ADDS_PRODUCT: Readonly<Record<string, string>> = {
  'aten::addmm_': 'aten::addmm',
  'acc::addmm_': 'acc::addmm',
};

/** In place, libtorch rounds the number to the dtype of a short float, and out of place it does not. */
const ROUNDS_NUMBER: ReadonlySet<string> = new Set(['aten::mul_.Scalar']);

const NAME = /^aten::([a-z0-9_]*[a-z0-9])_(\.\w+)?$/;
const OTHER_NAMES: Readonly<Record<string, string>> = {
  'aten::pow_.Scalar': 'aten::pow.Tensor_Scalar',
  'aten::pow_.Tensor': 'aten::pow.Tensor_Tensor',
};

/**
 * The operator that returns a new value with the same numbers, dtype and layout, instead of writing
 * it over the first argument. Undefined if there is none.
 *
 * @param isDense Whether the first argument is known to fill its memory in some order of its dims.
 */
export function outOfPlace(call: Call, graph: Graph, isDense: boolean): string | undefined {
  if (call.results.length > 0 || !call.args.every(isNewArgument)) return undefined;
  const [self, ...others] = call.uses.map((value) => graph.values[value]!) as [Value, ...Value[]];
  const adding = ADDS_PRODUCT[call.op];
  if (adding) return self.isContiguous && self.dtype === 'float32' ? adding : undefined;
  const [, name, overload = ''] = NAME.exec(call.op) ?? [];
  if (name === undefined) return undefined;
  if (ROUNDS_NUMBER.has(call.op) && self.dtype !== 'float32') return undefined;
  const keepsType = ELEMENTWISE.includes(name)
    ? (self.isContiguous || isDense) && others.every((other) => promotesTo(self, other))
    : SELECTIVE.includes(name) && self.isContiguous;
  return keepsType ? (OTHER_NAMES[call.op] ?? `aten::${name}${overload}`) : undefined;
}

const FLOATS_BELOW: Partial<Record<NativeDtype, readonly NativeDtype[]>> = {
  float32: ['float16', 'bfloat16'],
};

/** Whether the dtype of an operator's result is that of `self` with `other` beside it. */
function promotesTo(self: Value, other: Value): boolean {
  if (self.dtype === other.dtype) return true;
  if (!isFloat(self.dtype)) return false;
  if (self.shape.length > 0 && other.shape.length === 0) return true;
  if (['bool', 'uint8', 'int8', 'int16', 'int32', 'int64'].includes(other.dtype)) return true;
  return FLOATS_BELOW[self.dtype]?.includes(other.dtype) ?? false;
}
