import type { NativeDtype } from '@acc/contract';
import type { Argument } from './graph.js';
import type { Operand, ProgramBuilder, StepOperator } from './fused-program.js';

/** How exactly fused operators compute as separate ones do. */
export type FusionMode = 'fast' | 'exact';

/** Adds the steps of an operator to a program. */
type Emit = (program: ProgramBuilder, tensors: readonly Operand[], args: readonly Argument[]) => Operand;

/** An operator that can be part of a fused program. */
export interface ElementwiseOperator {
  readonly emit: Emit;
  /** Whether it rounds exactly as the operator alone does. */
  readonly isExact: boolean;
  /** Whether it has a form for these arguments. Default: for all. */
  readonly accepts?: (args: readonly Argument[]) => boolean;
  /** Whether it converts a tensor of integers. Others take floats and bools. */
  readonly takesIntegers?: boolean;
}

const steps =
  (op: StepOperator): Emit =>
  (program, tensors) =>
    program.step(op, ...tensors);

const exact = (op: StepOperator): ElementwiseOperator => ({ emit: steps(op), isExact: true });
const close = (op: StepOperator): ElementwiseOperator => ({ emit: steps(op), isExact: false });

/** An operator with a number as its argument at `place`. */
const withNumber = (op: StepOperator, place = 1): ElementwiseOperator => ({
  emit: (program, [x], args) => program.step(op, x!, program.constant(Math.fround(Number(args[place])))),
  isExact: true,
  accepts: (args) => typeof args[place] === 'number',
});

/** `a + alpha · b` with alpha 1. */
const unscaled = (operator: ElementwiseOperator): ElementwiseOperator => ({
  ...operator,
  accepts: (args) => args[2] === 1 && (operator.accepts?.(args) ?? true),
});

/** Exponents for which libtorch also multiplies, takes roots and divides. */
const POWERS: Readonly<Record<number, (program: ProgramBuilder, x: Operand) => Operand>> = {
  [-2]: (program, x) => program.step('reciprocal', program.step('mul', x, x)),
  [-1]: (program, x) => program.step('reciprocal', x),
  [-0.5]: (program, x) => program.step('rsqrt', x),
  0.5: (program, x) => program.step('sqrt', x),
  2: (program, x) => program.step('mul', x, x),
  3: (program, x) => program.step('mul', program.step('mul', x, x), x),
};

/** The gradient of a function of which the result y is known: `dy · slope(y)`. */
const ofResult = (slope: (program: ProgramBuilder, y: Operand) => Operand): ElementwiseOperator => ({
  emit: (program, [dy, y]) => program.step('mul', dy!, slope(program, y!)),
  isExact: false,
});

const OPERATORS: Readonly<Record<string, ElementwiseOperator>> = {
  'aten::add.Tensor': unscaled(exact('add')),
  'aten::sub.Tensor': unscaled(exact('sub')),
  'aten::mul.Tensor': exact('mul'),
  'aten::div.Tensor': exact('div'),
  'aten::add.Scalar': unscaled(withNumber('add')),
  'aten::sub.Scalar': unscaled(withNumber('sub')),
  'aten::mul.Scalar': withNumber('mul'),
  'aten::div.Scalar': withNumber('div'),
  'aten::maximum': close('max'),
  'aten::minimum': close('min'),
  'aten::gt.Tensor': exact('greater'),
  'aten::ge.Tensor': exact('greaterEqual'),
  'aten::lt.Tensor': exact('less'),
  'aten::le.Tensor': exact('lessEqual'),
  'aten::eq.Tensor': exact('equal'),
  'aten::ne.Tensor': exact('notEqual'),
  'aten::gt.Scalar': withNumber('greater'),
  'aten::ge.Scalar': withNumber('greaterEqual'),
  'aten::lt.Scalar': withNumber('less'),
  'aten::le.Scalar': withNumber('lessEqual'),
  'aten::logical_and': exact('and'),
  'aten::logical_or': exact('or'),
  'aten::logical_not': exact('not'),
  'aten::where.self': exact('select'),
  'aten::neg': exact('neg'),
  'aten::abs': exact('abs'),
  // libtorch takes it from MKL, which does not always round to the nearest number.
  'aten::sqrt': close('sqrt'),
  'aten::rsqrt': exact('rsqrt'),
  'aten::reciprocal': exact('reciprocal'),
  'aten::square': { emit: (program, [x]) => program.step('mul', x!, x!), isExact: true },
  'aten::relu': close('relu'),
  'aten::tanh': close('tanh'),
  'aten::sigmoid': close('sigmoid'),
  'aten::pow.Tensor_Scalar': {
    emit: (program, [x], args) => POWERS[Number(args[1])]!(program, x!),
    // As for the square root, which it contains.
    isExact: false,
    accepts: (args) => typeof args[1] === 'number' && args[1] in POWERS,
  },
  'aten::tanh_backward': ofResult((program, y) =>
    program.step('sub', program.constant(1), program.step('mul', y, y)),
  ),
  'aten::sigmoid_backward': ofResult((program, y) =>
    program.step('mul', program.step('sub', program.constant(1), y), y),
  ),
  // The conversion itself happens where inputs are read and results are written.
  'aten::_to_copy': { emit: (_program, [x]) => x!, isExact: true, takesIntegers: true },
};

/** The elementwise form of an operator. Undefined if it has none. */
export const elementwiseOperator = (name: string): ElementwiseOperator | undefined =>
  Object.hasOwn(OPERATORS, name) ? OPERATORS[name] : undefined;

const FLOATS: readonly NativeDtype[] = ['float32', 'bfloat16'];

export const isFusableResult = (dtype: NativeDtype): boolean => FLOATS.includes(dtype) || dtype === 'bool';
export const isFusableOperand = (dtype: NativeDtype, takesIntegers = false): boolean =>
  isFusableResult(dtype) || (takesIntegers && (dtype === 'int32' || dtype === 'int64'));
