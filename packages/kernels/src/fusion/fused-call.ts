import { elementwiseOperator } from './elementwise-operators.js';
import { isReshape } from './fusable.js';
import { ProgramBuilder, type Operand, type ProgramResult } from './fused-program.js';
import type { Call, FusedCall, Graph } from './graph.js';
import { sizeOf } from './size-of.js';

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

  for (const member of members) {
    const given = member.uses.map((value) => operandOf(value, member));
    const [result] = member.results as [number];
    const computed = isReshape(member)
      ? given[0]!
      : elementwiseOperator(member.op)!.emit(program, given, member.args);
    const { dtype, shape } = values[result]!;
    const isRounded = dtype === 'bfloat16' && !isReshape(member);
    operands.set(result, isRounded ? program.step('roundToBfloat16', computed) : computed);
    if (!isNeeded(result)) continue;
    const operand = operands.get(result)!;
    const isFree = program.isStep(operand) && !results.some((other) => other.operand === operand);
    results.push({ value: result, operand: isFree ? operand : program.step('copy', operand), dtype, shape });
  }
  const elements = sizeOf(values[members[0]!.results[0]!]!.shape);
  return {
    kind: 'fused',
    members,
    uses,
    results: results.map(({ value }) => value),
    program: program.build(elements, results),
  };
}
