import { scalarTypeOf } from '@acc/native';
import type { NativeDtype } from '@acc/contract';

/** The operators of a program, in the order of `Op` in cpp/engine/fused/program.h. */
const STEP_OPERATORS = [
  ...(['add', 'sub', 'mul', 'div', 'max', 'min'] as const),
  ...(['greater', 'greaterEqual', 'less', 'lessEqual', 'equal', 'notEqual', 'and', 'or'] as const),
  ...(['neg', 'abs', 'sqrt', 'rsqrt', 'reciprocal', 'tanh', 'sigmoid', 'relu', 'not'] as const),
  ...(['copy', 'roundToBfloat16', 'select'] as const),
];

export type StepOperator = (typeof STEP_OPERATORS)[number];

/** A block of elements during a run: an input, a constant, or the result of a step. */
export type Operand = number;

interface Step {
  readonly op: StepOperator;
  readonly operands: readonly Operand[];
}

/** A result of a program. Each is another operand, and none an input or a constant. */
export interface ProgramResult {
  readonly operand: Operand;
  readonly dtype: NativeDtype;
  readonly shape: readonly number[];
}

/**
 * Elementwise steps over a number of elements in row-major order, in numbers, as `read_program` in
 * C++ takes them.
 */
export type FusedProgram = readonly number[];

/** Builds a program. Operands are numbered as they are created, and then get registers. */
export class ProgramBuilder {
  readonly #inputs = new Map<Operand, readonly number[]>();
  readonly #constants: { readonly operand: Operand; readonly number: number }[] = [];
  readonly #steps = new Map<Operand, Step>();
  #count = 0;

  /** A further input, which is broadcast to `shape`. */
  input(shape: readonly number[]): Operand {
    this.#inputs.set(this.#count, shape);
    return this.#count++;
  }

  constant(number: number): Operand {
    const known = this.#constants.find((constant) => Object.is(constant.number, number));
    if (known) return known.operand;
    this.#constants.push({ operand: this.#count, number });
    return this.#count++;
  }

  /** The bfloat16 nearest to an operand. */
  rounded(operand: Operand): Operand {
    const constant = this.#constants.find((each) => each.operand === operand);
    return constant ? this.constant(nearestBfloat16(constant.number)) : this.step('roundToBfloat16', operand);
  }

  step(op: StepOperator, ...operands: Operand[]): Operand {
    this.#steps.set(this.#count, { op, operands });
    return this.#count++;
  }

  /** Whether an operand can be a result. */
  isStep(operand: Operand): boolean {
    return this.#steps.has(operand);
  }

  /** @param elements The number of elements of every input, as broadcast, and of every result. */
  build(elements: number, results: readonly ProgramResult[]): FusedProgram {
    const { registers, count } = this.#registers(results.map(({ operand }) => operand));
    const at = (operand: Operand): number => registers.get(operand)!;
    const lists = [
      [...this.#inputs.values()].map((shape) => [shape.length, ...shape]),
      this.#constants.map(({ operand, number }) => [at(operand), number]),
      [...this.#steps].map(
        ([
          out,
          {
            op,
            operands: [a, b, c],
          },
        ]) => [STEP_OPERATORS.indexOf(op), ...[out, a!, b ?? a!, c ?? a!].map(at)],
      ),
      results.map(({ operand, dtype, shape }) => [at(operand), scalarTypeOf(dtype), shape.length, ...shape]),
    ];
    const code = [elements, count];
    for (const list of lists) code.push(list.length, ...list.flat());
    return code;
  }

  /**
   * Gives each operand a register: inputs first, then constants. The register of a step's result
   * is used again after the last step that reads it.
   */
  #registers(results: readonly Operand[]): { registers: Map<Operand, number>; count: number } {
    const fixed = [...this.#inputs.keys(), ...this.#constants.map(({ operand }) => operand)];
    const registers = new Map(fixed.map((operand, i) => [operand, i]));
    const lastUse = new Map<Operand, Operand>();
    for (const [out, { operands }] of this.#steps) for (const operand of operands) lastUse.set(operand, out);
    const free: number[] = [];
    let count = fixed.length;
    for (const [out, { operands }] of this.#steps) {
      for (const operand of new Set(operands)) {
        const isTemporary = this.#steps.has(operand) && !results.includes(operand);
        if (isTemporary && lastUse.get(operand) === out) free.push(registers.get(operand)!);
      }
      // A result has a register of its own, because C++ places it in the memory of the result.
      registers.set(out, results.includes(out) ? count++ : (free.pop() ?? count++));
    }
    return { registers, count };
  }
}

/** The bfloat16 nearest to a finite float32. Ties go to the even one. */
function nearestBfloat16(number: number): number {
  const bits = new Uint32Array(Float32Array.of(number).buffer);
  bits[0] = (bits[0]! + 0x7fff + ((bits[0]! >>> 16) & 1)) & 0xffff0000;
  return new Float32Array(bits.buffer)[0]!;
}
