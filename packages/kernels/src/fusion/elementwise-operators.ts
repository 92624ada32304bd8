import type { NativeDtype } from '@acc/contract';
import { gelu, geluBackward } from './gelu-form.js';
import type { Argument } from './graph.js';
import type { Operand, ProgramBuilder, StepOperator } from './fused-program.js';

/** How exactly fused operators compute as separate ones do. */
export type FusionMode = 'fast' | 'exact';

/** Adds the steps of an operator to a program. */
type Emit = (program: ProgramBuilder, operands: readonly Operand[], args: readonly Argument[]) => Operand;

/** An operator that can be part of a fused program. */
export interface ElementwiseOperator {
  readonly emit: Emit;
  /** Whether it rounds exactly as the operator alone does, or the only dtype in which it does. */
  readonly isExact: boolean | NativeDtype;
  /**
   * Whether the same holds on a GPU, where the operator alone is one operation of IEEE 754, or a choice,
   * of float32. Default: no.
   */
  readonly isExactOnGpu?: boolean;
  /** Whether it has a form for these arguments. Default: for all. */
  readonly accepts?: (args: readonly Argument[]) => boolean;
  /** Whether it converts a tensor of integers. Others take floats and bools. */
  readonly takesIntegers?: boolean;
  /** Whether its second operand is a number, which is its second argument. */
  readonly takesNumber?: boolean;
  /**
   * Whether on a CPU a second operand that is a number, or a tensor without dims, stays float32 beside
   * bfloat16. libtorch rounds it to bfloat16 in other operators.
   */
  readonly keepsScalar?: boolean;
  /** Whether libtorch has no form of it that computes shapes alone. */
  readonly needsMemory?: boolean;
}

const steps =
  (op: StepOperator): Emit =>
  (program, operands) =>
    program.step(op, ...operands);

const exact = (op: StepOperator): ElementwiseOperator => ({
  emit: steps(op),
  isExact: true,
  isExactOnGpu: true,
});

/** An operator with a number as its second operand. */
const withNumber = (operator: ElementwiseOperator): ElementwiseOperator => ({
  ...operator,
  takesNumber: true,
  accepts: (args) => typeof args[1] === 'number',
});

const needingMemory = (operator: ElementwiseOperator): ElementwiseOperator => ({
  ...operator,
  needsMemory: true,
});

const keepingScalar = (operator: ElementwiseOperator): ElementwiseOperator => ({
  ...operator,
  keepsScalar: true,
});

/** `a + alpha · b` with alpha 1. */
const unscaled = (operator: ElementwiseOperator): ElementwiseOperator => ({
  ...operator,
  accepts: (args) => args[2] === 1 && (operator.accepts?.(args) ?? true),
});

/** Exponents for which libtorch also multiplies and divides. */
const POWERS: Readonly<Record<number, (program: ProgramBuilder, x: Operand) => Operand>> = {
  [-2]: (program, x) => program.step('reciprocal', program.step('mul', x, x)),
  [-1]: (program, x) => program.step('reciprocal', x),
  2: (program, x) => program.step('mul', x, x),
  3: (program, x) => program.step('mul', program.step('mul', x, x), x),
};

/** The gradient of a function of which the result y is known: `dy · slope(y)`. */
const ofResult =
  (slope: (program: ProgramBuilder, y: Operand) => Operand): Emit =>
  (program, [dy, y]) =>
    program.step('mul', dy!, slope(program, y!));

/**
 * Operators that libtorch computes in another way than programs do. Those of the same name in
 * cpp/engine/fused/operator.cpp give the same bits alone as in a program.
 */
const OWN: Readonly<Record<string, Emit>> = {
  // libtorch chooses between 0 and -0 by the place of an element.
  maximum: steps('max'),
  minimum: steps('min'),
  // libtorch takes it from MKL, which does not always round to the nearest number.
  sqrt: steps('sqrt'),
  // In bfloat16 libtorch also rounds the square root of some elements.
  rsqrt: steps('rsqrt'),
  relu: steps('relu'),
  tanh: steps('tanh'),
  exp: steps('exp'),
  log: steps('log'),
  erf: steps('erf'),
  sigmoid: steps('sigmoid'),
  tanh_backward: ofResult((program, y) =>
    program.step('sub', program.constant(1), program.step('mul', y, y)),
  ),
  sigmoid_backward: ofResult((program, y) =>
    program.step('mul', program.step('sub', program.constant(1), y), y),
  ),
};

/** `y` where `x` is above 0, and `y` times a number elsewhere. */
const leaky = (program: ProgramBuilder, y: Operand, x: Operand, slope: number): Operand => {
  const isAbove = program.step('greater', x, program.constant(0));
  return program.step('select', isAbove, y, program.step('mul', y, program.constant(Math.fround(slope))));
};

/** Numbers between two bounds, the second and third argument. Null is no bound. */
const clamped: Emit = (program, [x], [, least, most]) => {
  const constant = (bound: number): Operand => program.constant(Math.fround(bound));
  const raised = typeof least === 'number' ? program.step('max', x!, constant(least)) : x!;
  return typeof most === 'number' ? program.step('min', raised, constant(most)) : raised;
};
const isBound = (arg: Argument | undefined): boolean => arg === null || typeof arg === 'number';

/** Whether a GELU has its tanh form. The other one is faster alone. */
const isByTanh = (args: readonly Argument[]): boolean => args.at(-1) === 'tanh';

const OPERATORS: Readonly<Record<string, ElementwiseOperator>> = {
  ...Object.fromEntries(
    Object.entries(OWN).flatMap(([name, emit]) => [
      [`acc::${name}`, { emit, isExact: true, needsMemory: name === 'relu' }],
      [`aten::${name}`, { emit, isExact: name === 'rsqrt' && 'float32' }],
    ]),
  ),
  'aten::add.Tensor': unscaled(exact('add')),
  'aten::sub.Tensor': unscaled(exact('sub')),
  'aten::mul.Tensor': keepingScalar(exact('mul')),
  'aten::div.Tensor': keepingScalar(exact('div')),
  'aten::add.Scalar': unscaled(withNumber(exact('add'))),
  'aten::sub.Scalar': unscaled(withNumber(exact('sub'))),
  'aten::mul.Scalar': keepingScalar(withNumber(exact('mul'))),
  // On a GPU libtorch multiplies by the inverse.
  'aten::div.Scalar': { ...keepingScalar(withNumber(exact('div'))), isExactOnGpu: false },
  'aten::gt.Tensor': exact('greater'),
  'aten::ge.Tensor': exact('greaterEqual'),
  'aten::lt.Tensor': exact('less'),
  'aten::le.Tensor': exact('lessEqual'),
  'aten::eq.Tensor': exact('equal'),
  'aten::ne.Tensor': exact('notEqual'),
  'aten::gt.Scalar': withNumber(exact('greater')),
  'aten::ge.Scalar': withNumber(exact('greaterEqual')),
  'aten::lt.Scalar': withNumber(exact('less')),
  'aten::le.Scalar': withNumber(exact('lessEqual')),
  'aten::logical_and': needingMemory(exact('and')),
  'aten::logical_or': needingMemory(exact('or')),
  'aten::logical_not': needingMemory(exact('not')),
  'aten::where.self': exact('select'),
  'aten::neg': exact('neg'),
  'aten::abs': needingMemory(exact('abs')),
  'aten::reciprocal': exact('reciprocal'),
  'aten::square': { emit: (program, [x]) => program.step('mul', x!, x!), isExact: true, isExactOnGpu: true },
  'aten::pow.Tensor_Scalar': {
    emit: (program, [x], args) => POWERS[Number(args[1])]!(program, x!),
    // In bfloat16 libtorch also rounds between its products.
    isExact: 'float32',
    accepts: (args) => typeof args[1] === 'number' && args[1] in POWERS,
  },
  'aten::threshold_backward': {
    emit: (program, [dy, x]) =>
      program.step('select', program.step('lessEqual', x!, program.constant(0)), program.constant(0), dy!),
    isExact: true,
    isExactOnGpu: true,
    accepts: (args) => args[2] === 0,
  },
  'aten::leaky_relu': {
    emit: (program, [x], args) => leaky(program, x!, x!, Number(args[1])),
    isExact: true,
    isExactOnGpu: true,
    accepts: (args) => typeof args[1] === 'number',
  },
  'aten::leaky_relu_backward': {
    emit: (program, [dy, x], args) => leaky(program, dy!, x!, Number(args[2])),
    // libtorch multiplies by 1, which flushes denormals, but not in the last elements.
    isExact: false,
    accepts: (args) => typeof args[2] === 'number',
  },
  'acc::gelu': { emit: gelu, isExact: true, accepts: isByTanh },
  'acc::gelu_backward': { emit: geluBackward, isExact: true, accepts: isByTanh },
  'aten::clamp': { emit: clamped, isExact: false, accepts: (args) => args.slice(1).every(isBound) },
  // The conversion itself happens where inputs are read and results are written.
  'aten::_to_copy': needingMemory({
    emit: (_program, [x]) => x!,
    isExact: true,
    isExactOnGpu: true,
    takesIntegers: true,
  }),
};

/** The elementwise form of an operator. Undefined if it has none. */
export const elementwiseOperator = (name: string): ElementwiseOperator | undefined =>
  Object.hasOwn(OPERATORS, name) ? OPERATORS[name] : undefined;

/** Whether an operator rounds in a program as alone. */
export function isExact(
  operator: ElementwiseOperator,
  dtypes: readonly NativeDtype[],
  isOnHost: boolean,
): boolean {
  // Alone, a GPU rounds numbers beside bfloat16 in another way.
  if (!isOnHost) return operator.isExactOnGpu === true && !dtypes.includes('bfloat16');
  return operator.isExact === true || operator.isExact === dtypes[0];
}

/** Whether a dtype is one of the floats that programs take. */
export const isFloat = (dtype: NativeDtype): boolean => dtype === 'float32' || dtype === 'bfloat16';
export const isFusableResult = (dtype: NativeDtype): boolean => isFloat(dtype) || dtype === 'bool';
export const isFusableOperand = (dtype: NativeDtype, takesIntegers = false): boolean =>
  isFusableResult(dtype) || (takesIntegers && (dtype === 'int32' || dtype === 'int64'));
