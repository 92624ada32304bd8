import { util } from '@tensorflow/tfjs-core';
import { elementwiseOperator, type ElementwiseOperator } from './elementwise-operators.js';
import { computesInBfloat16, isReshape } from './fusable.js';
import { ProgramBuilder, type Operand, type ProgramResult } from './fused-program.js';
import type { Call, FusedCall, Graph } from './graph.js';

/**
 * One call instead of `members`, elementwise operators on equally many elements.
 *
 * @param isNeeded Whether a result is used elsewhere. The others are not written.
 */
export function fusedCallOf(
  members: readonly Call[],
  { values, numbers }: Graph,
  isNeeded: (value: number) => boolean,
): FusedCall {
  const program = new ProgramBuilder();
  const operands = new Map<number, Operand>();
  const uses: number[] = [];
  const inputs = new Map<string, Operand>();
  const results: (ProgramResult & { value: number })[] = [];

  /** The operand of a value that `user` takes: a number, an earlier result, or an input. */
  function operandOf(value: number, user: Call): Operand {
    const known = operands.get(value);
    if (known !== undefined) return known;
    const number = numbers.get(value);
    if (number !== undefined) return program.constant(number);
    const { shape } = values[isReshape(user) ? value : user.results[0]!]!;
    const key = `${value}:${shape.join()}`;
    const input = inputs.get(key) ?? program.input(shape);
    if (!inputs.has(key)) uses.push(value);
    inputs.set(key, input);
    return input;
  }

  /** The operands of an elementwise operator in the dtype in which libtorch computes. */
  function operandsOf(member: Call, { takesNumber, keepsScalar }: ElementwiseOperator): Operand[] {
    const given = member.uses.map((value) => ({ operand: operandOf(value, member), ...values[value]! }));
    const isShort = computesInBfloat16(given);
    if (takesNumber) {
      const operand = program.constant(Math.fround(Number(member.args[1])));
      given.push({ operand, dtype: 'float32', shape: [], isContiguous: true });
    }
    return given.map(({ operand, dtype }, i) => {
      const isRounded = isShort && dtype === 'float32' && !(keepsScalar && i === 1);
      return isRounded ? program.rounded(operand) : operand;
    });
  }

  function computed(member: Call): Operand {
    if (isReshape(member)) return operandOf(member.uses[0]!, member);
    const operator = elementwiseOperator(member.op)!;
    const result = operator.emit(program, operandsOf(member, operator), member.args);
    return values[member.results[0]!]!.dtype === 'bfloat16' ? program.rounded(result) : result;
  }

  for (const member of members) {
    const [result] = member.results as [number];
    const operand = computed(member);
    operands.set(result, operand);
    if (!isNeeded(result)) continue;
    const { dtype, shape } = values[result]!;
    const isFree = program.isStep(operand) && !results.some((other) => other.operand === operand);
    results.push({ value: result, operand: isFree ? operand : program.step('copy', operand), dtype, shape });
  }
  const elements = util.sizeFromShape([...values[members[0]!.results[0]!]!.shape]);
  return {
    kind: 'fused',
    members,
    uses,
    results: results.map(({ value }) => value),
    program: program.build(elements, results),
  };
}
