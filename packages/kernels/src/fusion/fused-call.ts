import { util } from '@tensorflow/tfjs-core';
import { elementwiseOperator, type ElementwiseOperator } from './elementwise-operators.js';
import { computesInBfloat16, isReshape, isShapeOnly } from './fusable.js';
import { ProgramBuilder, type Extent, type Operand, type ProgramResult } from './fused-program.js';
import type { Call, FusedCall, Graph } from './graph.js';
import type { Layout } from './layouts.js';
import { isRowOperator, rowForm, type RowForm } from './row-operators.js';

/**
 * One call instead of `members`, which work on the elements or on the rows of one layout.
 *
 * @param isNeeded Whether a result is used elsewhere. The others are not written.
 */
export function fusedCallOf(
  members: readonly Call[],
  layout: Layout,
  graph: Graph,
  isNeeded: (value: number) => boolean,
): FusedCall {
  const { values, numbers } = graph;
  const program = new ProgramBuilder(layout.row);
  const operands = new Map<number, Operand>();
  const uses: number[] = [];
  const inputs = new Map<string, Operand>();
  const results: (ProgramResult & { value: number })[] = [];

  const extentOf = (value: number): Extent =>
    util.sizeFromShape([...values[value]!.shape]) === layout.elements ? 'elements' : 'rows';

  /**
   * The operand of a value: a number, an earlier result, or an input.
   *
   * @param shape The shape to which an input is broadcast.
   * @param extent What the operator works on.
   */
  function operandOf(value: number, shape: readonly number[], extent: Extent): Operand {
    const known = operands.get(value) ?? constantOf(value);
    if (known !== undefined) return extent === 'elements' ? program.spread(known) : known;
    const key = `${extent}:${value}:${shape.join()}`;
    const input = inputs.get(key) ?? program.input(shape, extent);
    if (!inputs.has(key)) uses.push(value);
    inputs.set(key, input);
    return input;
  }

  function constantOf(value: number): Operand | undefined {
    const number = numbers.get(value);
    return number === undefined ? undefined : program.constant(number);
  }

  /** The operands of an elementwise operator in the dtype in which libtorch computes. */
  function operandsOf(member: Call, { takesNumber, keepsScalar }: ElementwiseOperator): Operand[] {
    const result = member.results[0]!;
    const { shape } = values[result]!;
    const extent = extentOf(result);
    const given = member.uses.map((value) => ({
      operand: operandOf(value, shape, extent),
      ...values[value]!,
    }));
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
    const [result] = member.results as [number];
    program.extentOfConstants = extentOf(result);
    if (isShapeOnly(member)) {
      const [given] = member.uses as [number];
      return operandOf(given, values[isReshape(member) ? given : result]!.shape, extentOf(result));
    }
    const operator = elementwiseOperator(member.op);
    const made = operator
      ? operator.emit(program, operandsOf(member, operator), member.args)
      : onRows(member, rowForm(member, graph) as RowForm);
    return values[result]!.dtype === 'bfloat16' ? program.rounded(made) : made;
  }

  function onRows(member: Call, form: RowForm): Operand {
    const given = member.uses.map((value) => operandOf(value, values[value]!.shape, 'elements'));
    return form.emit(program, given);
  }

  function addResult(value: number, operand: Operand): void {
    const { dtype, shape } = values[value]!;
    const isTaken = results.some((other) => other.operand === operand && other.extent !== 'columns');
    const isFree = program.isStep(operand) && !isTaken;
    const own = isFree ? operand : program.step('copy', operand);
    results.push({ value, operand: own, extent: extentOf(value), dtype, shape });
  }

  /** Nothing in the program takes the sum of columns, which is known after its last block. */
  function addColumns(member: Call): void {
    const [value] = member.results as [number];
    const [given] = member.uses as [number];
    const { dtype, shape } = values[value]!;
    const operand = operandOf(given, values[given]!.shape, 'elements');
    results.push({ value, operand, extent: 'columns', dtype, shape });
  }

  const isColumnSum = (member: Call): boolean =>
    isRowOperator(member.op) && (rowForm(member, graph) as RowForm).result === 'columns';

  for (const member of members) {
    if (isColumnSum(member)) {
      addColumns(member);
      continue;
    }
    const [result] = member.results as [number];
    const operand = computed(member);
    operands.set(result, operand);
    if (isNeeded(result)) addResult(result, operand);
  }
  return {
    kind: 'fused',
    members,
    uses,
    results: results.map(({ value }) => value),
    program: program.build(layout.elements, results),
  };
}
