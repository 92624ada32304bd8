import { scalarTypeOf } from '@acc/native';
import type { NativeDtype } from '@acc/contract';

/** Operators with two operands. Beside one of elements, the other one may be of rows. */
const PAIR_OPERATORS = [
  ...(['add', 'sub', 'mul', 'div', 'max', 'min'] as const),
  ...(['greater', 'greaterEqual', 'less', 'lessEqual', 'equal', 'notEqual', 'and', 'or'] as const),
];
/** The operators of a program, in the order of `Op` in cpp/engine/fused/program.h. */
const STEP_OPERATORS = [
  ...PAIR_OPERATORS,
  ...(['neg', 'abs', 'sqrt', 'rsqrt', 'reciprocal', 'tanh', 'sigmoid', 'relu', 'not'] as const),
  ...(['copy', 'roundToBfloat16', 'select', 'exp', 'log', 'erf'] as const),
];
const ROW_OPERATORS = ['sumRow', 'maxRow', 'spread'] as const;
const CODES: readonly string[] = [...STEP_OPERATORS, ...ROW_OPERATORS];

export type StepOperator = (typeof STEP_OPERATORS)[number];
type RowOperator = (typeof ROW_OPERATORS)[number];

/**
 * The extents of operands: a number for each element, row or column. Their order is that of
 * `Extent` in cpp/engine/fused/program.h.
 */
const EXTENTS = ['elements', 'rows', 'columns'] as const;
export type Extent = (typeof EXTENTS)[number];

/** A block of elements or rows during a run: an input, a constant, or the result of a step. */
export type Operand = number;

interface Step {
  readonly op: StepOperator | RowOperator;
  readonly operands: readonly Operand[];
  readonly extent: Extent;
}

interface Input {
  readonly shape: readonly number[];
  readonly extent: Extent;
}

/**
 * A result of a program. Each is another operand, and none an input or a constant, except that sums
 * of columns take any operand of elements.
 */
export interface ProgramResult {
  readonly operand: Operand;
  readonly extent: Extent;
  readonly dtype: NativeDtype;
  readonly shape: readonly number[];
}

/**
 * Elementwise steps, and steps on rows, over a number of elements in row-major order, in numbers, as
 * `read_program` in C++ takes them.
 */
export type FusedProgram = readonly number[];

/** Builds a program. Operands are numbered as they are created, and then get registers. */
export class ProgramBuilder {
  readonly #inputs = new Map<Operand, Input>();
  readonly #constants: { readonly operand: Operand; readonly number: number }[] = [];
  readonly #steps = new Map<Operand, Step>();
  readonly #spread = new Map<Operand, Operand>();
  #count = 0;

  /** The extent of a step that takes only constants. */
  extentOfConstants: Extent = 'elements';

  /** @param row The length of the rows over which its operators work. 0 if there are none. */
  constructor(private readonly row = 0) {}

  /** A further input, which is broadcast to `shape`. */
  input(shape: readonly number[], extent: Extent = 'elements'): Operand {
    this.#inputs.set(this.#count, { shape, extent });
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

  /** Elements, if an operand has elements. Otherwise a number for each row, if an operand has that. */
  step(op: StepOperator, ...operands: Operand[]): Operand {
    const extents = operands.flatMap((operand) => this.extentOf(operand) ?? []);
    const extent = extents.includes('elements') ? 'elements' : (extents[0] ?? this.extentOfConstants);
    const takesRows = extent === 'rows' || PAIR_OPERATORS.some((pair) => pair === op);
    const taken = takesRows ? operands : operands.map((operand) => this.spread(operand));
    return this.#add({ op, operands: taken, extent });
  }

  /** One number for each row of `x`. */
  reduced(op: 'sumRow' | 'maxRow', x: Operand): Operand {
    return this.#add({ op, operands: [this.spread(x)], extent: 'rows' });
  }

  /** The elements of rows, from one number for each. Other operands stay as they are. */
  spread(operand: Operand): Operand {
    if (this.extentOf(operand) !== 'rows') return operand;
    const known = this.#spread.get(operand);
    if (known !== undefined) return known;
    const spread = this.#add({ op: 'spread', operands: [operand], extent: 'elements' });
    this.#spread.set(operand, spread);
    return spread;
  }

  /** The extent of an operand. Undefined for constants, which can have any. */
  extentOf(operand: Operand): Extent | undefined {
    return (this.#steps.get(operand) ?? this.#inputs.get(operand))?.extent;
  }

  #add(step: Step): Operand {
    this.#steps.set(this.#count, step);
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
    const numberOf = (extent: Extent): number => EXTENTS.indexOf(extent);
    const lists = [
      [...this.#inputs.values()].map(({ shape, extent }) => [numberOf(extent), shape.length, ...shape]),
      this.#constants.map(({ operand, number }) => [at(operand), number]),
      [...this.#steps].map(([out, { op, operands, extent }]) => {
        const [a, b = a, c = a] = operands;
        return [CODES.indexOf(op), numberOf(extent), ...[out, a!, b!, c!].map(at)];
      }),
      results.map(({ operand, extent, dtype, shape }) => [
        ...[at(operand), numberOf(extent), scalarTypeOf(dtype), shape.length],
        ...shape,
      ]),
    ];
    const code = [elements, this.row, count];
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
    const free: Record<Extent, number[]> = { elements: [], rows: [], columns: [] };
    let count = fixed.length;
    for (const [out, { operands, extent }] of this.#steps) {
      for (const operand of new Set(operands)) {
        const step = this.#steps.get(operand);
        if (!step || results.includes(operand) || lastUse.get(operand) !== out) continue;
        free[step.extent].push(registers.get(operand)!);
      }
      // A result has a register of its own, because C++ places it in the memory of the result.
      registers.set(out, results.includes(out) ? count++ : (free[extent].pop() ?? count++));
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
