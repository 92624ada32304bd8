import { util } from '@tensorflow/tfjs-core';
import { elementwiseOperator, type ElementwiseOperator } from './elementwise-operators.js';
import { computesInBfloat16, isReshape, isShapeOnly } from './fusable.js';
import { ProgramBuilder, type Extent, type Operand, type ProgramResult } from './fused-program.js';
import type { Call, FusedCall, Graph, Value } from './graph.js';
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
  const fuser = new CallFuser(layout, graph, isNeeded);
  for (const member of members) fuser.add(member);
  return { kind: 'fused', members, ...fuser.build() };
}

/** Adds calls to a program. */
class CallFuser {
  readonly #program: ProgramBuilder;
  readonly #operands = new Map<number, Operand>();
  readonly #uses: number[] = [];
  readonly #inputs = new Map<string, Operand>();
  readonly #results: (ProgramResult & { value: number })[] = [];

  constructor(
    private readonly layout: Layout,
    private readonly graph: Graph,
    private readonly isNeeded: (value: number) => boolean,
  ) {
    this.#program = new ProgramBuilder(layout.row);
  }

  add(member: Call): void {
    const [result] = member.results as [number];
    this.#program.extentOfConstants = this.#extentOf(result);
    const form = isRowOperator(member.op) ? (rowForm(member, this.graph) as RowForm) : undefined;
    if (form?.result === 'columns') {
      // Nothing in the program takes the sum of columns, which is known after its last block.
      this.#addResult(result, this.#program.spread(this.#elementsOf(member.uses[0]!)), 'columns');
      return;
    }
    const operand = this.#computed(member, form);
    this.#operands.set(result, operand);
    if (!this.isNeeded(result)) return;
    const extent = this.#extentOf(result);
    const full = extent === 'elements' ? this.#program.spread(operand) : operand;
    this.#addResult(result, this.#unshared(full), extent);
  }

  build(): Pick<FusedCall, 'uses' | 'results' | 'program'> {
    return {
      uses: this.#uses,
      results: this.#results.map(({ value }) => value),
      program: this.#program.build(this.layout.elements, this.#results),
    };
  }

  #computed(member: Call, form: RowForm | undefined): Operand {
    const [result] = member.results as [number];
    if (isShapeOnly(member)) {
      const [given] = member.uses as [number];
      const { shape } = this.#value(isReshape(member) ? given : result);
      return this.#operandOf(given, shape, this.#extentOf(result));
    }
    const created = form
      ? form.emit(
          this.#program,
          member.uses.map((value) => this.#elementsOf(value)),
        )
      : this.#elementwise(member, elementwiseOperator(member.op)!);
    return this.#value(result).dtype === 'bfloat16' ? this.#program.rounded(created) : created;
  }

  /** Takes operands in the dtype in which libtorch computes. */
  #elementwise(member: Call, { emit, takesNumber, keepsScalar }: ElementwiseOperator): Operand {
    const result = member.results[0]!;
    const { shape } = this.#value(result);
    const extent = this.#extentOf(result);
    const given = member.uses.map((value) => ({
      operand: this.#operandOf(value, shape, extent),
      ...this.#value(value),
    }));
    const isShort = computesInBfloat16(given);
    if (takesNumber) {
      const operand = this.#program.constant(Math.fround(Number(member.args[1])));
      given.push({ operand, dtype: 'float32', shape: [], isContiguous: true });
    }
    // A GPU takes every number as it is, and rounds tensors without dims.
    const isKept = this.graph.isOnHost ? keepsScalar : takesNumber;
    const operands = given.map(({ operand, dtype }, i) => {
      const isRounded = isShort && dtype === 'float32' && !(isKept && i === 1);
      return isRounded ? this.#program.rounded(operand) : operand;
    });
    return emit(this.#program, operands, member.args);
  }

  /**
   * The operand of a value: a number, an earlier result, or an input. A result of rows stands for its
   * elements too.
   *
   * @param shape The shape to which an input is broadcast.
   * @param extent What the operator works on.
   */
  #operandOf(value: number, shape: readonly number[], extent: Extent): Operand {
    const known = this.#operands.get(value) ?? this.#constantOf(value);
    if (known !== undefined) return known;
    const key = `${extent}:${value}:${shape.join()}`;
    const input = this.#inputs.get(key) ?? this.#program.input(shape, extent);
    if (!this.#inputs.has(key)) this.#uses.push(value);
    this.#inputs.set(key, input);
    return input;
  }

  #constantOf(value: number): Operand | undefined {
    const number = this.graph.numbers.get(value);
    return number === undefined ? undefined : this.#program.constant(number);
  }

  #elementsOf(value: number): Operand {
    return this.#operandOf(value, this.#value(value).shape, 'elements');
  }

  #addResult(value: number, operand: Operand, extent: Extent): void {
    const { dtype, shape } = this.#value(value);
    this.#results.push({ value, operand, extent, dtype, shape });
  }

  /** An operand that is a step and no other result, except of a sum of columns. */
  #unshared(operand: Operand): Operand {
    const isTaken = this.#results.some((other) => other.operand === operand && other.extent !== 'columns');
    return this.#program.isStep(operand) && !isTaken ? operand : this.#program.step('copy', operand);
  }

  #value(value: number): Value {
    return this.graph.values[value]!;
  }

  #extentOf(value: number): Extent {
    return util.sizeFromShape([...this.#value(value).shape]) === this.layout.elements ? 'elements' : 'rows';
  }
}
