import { operator, operatorWithResults, tensorFrom, type Tensor } from '@acc/native';
import type { NativeDtype } from '@acc/contract';
import {
  ProgramBuilder,
  type Extent,
  type FusedProgram,
  type Operand,
  type ProgramResult,
} from '../../packages/kernels/src/fusion/fused-program.js';
import { difference } from '../../packages/kernels/src/fusion/testing-replays.js';

const runProgram = operatorWithResults('acc::program');
const castTo = operator('aten::_to_copy');
const positive = operator('aten::gt.Scalar');
const transposed = operator('aten::transpose.int');
const sliced = operator('aten::slice.Tensor');

/** How the elements of an input lie in memory. */
type MemoryLayout = 'whole' | 'transposed' | 'sliced';

export interface InputCase {
  readonly dtype: NativeDtype;
  readonly shape: readonly number[];
  readonly layout: MemoryLayout;
  /** The element of a place. */
  readonly numberAt: (place: number) => number;
}

/** The differences to a CPU that a result may have: none, or relative to numbers above 1. */
export interface Bound {
  readonly name: string;
  readonly bound: number;
}

/** A fused program with inputs. */
export interface ProgramCase {
  readonly name: string;
  readonly inputs: readonly InputCase[];
  readonly program: FusedProgram;
  readonly results: readonly Bound[];
}

export const SAME_BITS = NaN;

/** Builds a case. */
export class CaseBuilder {
  readonly program: ProgramBuilder;
  readonly #inputs: InputCase[] = [];
  readonly #results: (ProgramResult & Bound)[] = [];

  /** @param shape That of the elements. @param row The length of a row; 0 for none. */
  constructor(
    private readonly shape: readonly number[],
    private readonly row = 0,
  ) {
    this.program = new ProgramBuilder(row);
  }

  get hasRows(): boolean {
    return this.row > 0;
  }

  get elements(): number {
    return this.shape.reduce((product, size) => product * size, 1);
  }

  input(given: Partial<InputCase> = {}, extent: Extent = 'elements'): Operand {
    const seed = this.#inputs.length;
    const { dtype = 'float32', shape = this.shape, layout = 'whole', numberAt = numbersWith(seed) } = given;
    this.#inputs.push({ dtype, shape, layout, numberAt });
    return this.program.input(this.#shapeOf(extent), extent);
  }

  /** An operand that is a step, and no result yet. */
  result(operand: Operand, bound = SAME_BITS, more: Partial<Bound & ProgramResult> = {}): void {
    const { name = `result ${this.#results.length}`, dtype = 'float32', extent = 'elements' } = more;
    this.#results.push({ operand, extent, dtype, shape: this.#shapeOf(extent), name, bound });
  }

  build(name: string): ProgramCase {
    return {
      name,
      inputs: this.#inputs,
      program: this.program.build(this.elements, this.#results),
      results: this.#results,
    };
  }

  #shapeOf(extent: Extent): readonly number[] {
    if (extent === 'elements') return this.shape;
    return [extent === 'columns' ? this.row : this.row > 0 ? this.elements / this.row : 0];
  }
}

const SPECIAL = [0, -0, NaN, Infinity, -Infinity, 0.1, 0.2, 0.3, 1e30, 0.9, -0.9];

/** Different numbers, among them special ones. None is below 1e-37, which only CPUs take for zero. */
export function numbersWith(seed: number): (place: number) => number {
  return (place) => {
    const own = (place * 7 + seed * 3) % 41;
    return own < SPECIAL.length ? SPECIAL[own]! : Math.fround(2 * Math.sin(place * place + seed));
  };
}

export const finite =
  (seed: number): InputCase['numberAt'] =>
  (place) =>
    Math.fround(2 * Math.sin(place * place + seed));

/** The values of the results of a case, as float32. */
export function resultsOn(device: string, given: ProgramCase, driver?: string): Float32Array[] {
  const inputs = given.inputs.map((input) => tensorOn(device, input));
  const results = runProgram(inputs, given.program, driver ?? null).flat() as Tensor[];
  const values = results.map((result) => {
    using floats = castTo(result, 'float32', undefined, 'cpu');
    return floats.read() as Float32Array;
  });
  for (const tensor of [...inputs, ...results]) tensor.dispose();
  return values;
}

/** Elements that the layout leaves out are NaN, so that it shows if they are read. */
function tensorOn(device: string, { dtype, shape, layout, numberAt }: InputCase): Tensor {
  const size = shape.reduce((product, each) => product * each, 1);
  const values = Float32Array.from({ length: size }, (_, i) => numberAt(i));
  const { base, baseShape, view } = LAYOUTS[layout](values, shape);
  const floats = tensorFrom(base, 'float32', baseShape);
  const moved = castTo(floats, 'float32', undefined, device);
  const cast = dtype === 'bool' ? positive(moved, 0) : castTo(moved, dtype);
  const viewed = view(cast);
  for (const tensor of new Set([floats, moved, cast])) if (tensor !== viewed) tensor.dispose();
  return viewed;
}

interface Memory {
  readonly base: Float32Array;
  readonly baseShape: readonly number[];
  readonly view: (base: Tensor) => Tensor;
}

const LAYOUTS: Readonly<Record<MemoryLayout, (values: Float32Array, shape: readonly number[]) => Memory>> = {
  whole: (base, baseShape) => ({ base, baseShape, view: (x) => x }),
  // The last two dims.
  transposed: (values, shape) => {
    const [rows, columns] = shape.slice(-2) as [number, number];
    const base = Float32Array.from(values, (_, i) => {
      const [block, place] = [Math.floor(i / (rows * columns)), i % (rows * columns)];
      return values[block * rows * columns + (place % rows) * columns + Math.floor(place / rows)]!;
    });
    const baseShape = [...shape.slice(0, -2), columns, rows];
    return { base, baseShape, view: (x) => transposed(x, -1, -2) };
  },
  // Every second element of the last dim, from the second on.
  sliced: (values, shape) => {
    const base = Float32Array.from({ length: 2 * values.length }, (_, i) =>
      i % 2 === 1 ? values[i >> 1]! : NaN,
    );
    const length = 2 * shape.at(-1)!;
    return { base, baseShape: [...shape.slice(0, -1), length], view: (x) => sliced(x, -1, 1, length, 2) };
  },
};

/** The results whose `values` differ from those of the CPU by more than their bounds. */
export function differencesFromCpu(
  given: ProgramCase,
  values: ReturnType<typeof resultsOn>,
): { readonly name: string; readonly found: ReturnType<typeof difference> }[] {
  const expected = resultsOn('cpu', given);
  return given.results.flatMap(({ name, bound }, k) => {
    const found = difference(expected[k]!, values[k]!, bound);
    return found || expected[k]!.length !== values[k]!.length ? [{ name, found }] : [];
  });
}
