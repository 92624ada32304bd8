import { util } from '@tensorflow/tfjs-core';
import type { Operand, ProgramBuilder } from './fused-program.js';
import type { Call, Graph } from './graph.js';

/** The result of an operator on rows: elements, a number for each row, or one for each column. */
type RowResult = 'elements' | 'rows' | 'columns';

/** An operator on rows, as part of a program. */
export interface RowForm {
  readonly result: RowResult;
  /** The length of a row: the product of the last dims. */
  readonly row: number;
  /** Adds the steps to a program. Sums of columns have none. */
  readonly emit: (program: ProgramBuilder, operands: readonly Operand[]) => Operand;
}

/** Rows from this length on: shorter ones take longer than the calls that they save. */
const MIN_ROW = 4;
/** Registers of whole rows must fit into a core's cache. `kMaxRow` in cpp/engine/fused/program.cpp. */
const MAX_ROW = 1 << 14;

export const isRowLength = (row: number): boolean => row >= MIN_ROW && row <= MAX_ROW;

type Emit = (program: ProgramBuilder, operands: readonly Operand[], row: number) => Operand;

const sum: Emit = (program, [x]) => program.reduced('sumRow', x!);
const mean: Emit = (program, operands, row) =>
  program.step('div', sum(program, operands, row), program.constant(row));
const max: Emit = (program, [x]) => program.reduced('maxRow', x!);

/** The differences to the largest number of each row, and their exponentials. */
function exponentials(program: ProgramBuilder, x: Operand): { shifted: Operand; powers: Operand } {
  const shifted = program.step('sub', x, program.reduced('maxRow', x));
  return { shifted, powers: program.step('exp', shifted) };
}

const softmax: Emit = (program, [x]) => {
  const { powers } = exponentials(program, x!);
  const inverse = program.step('reciprocal', program.reduced('sumRow', powers));
  return program.step('mul', powers, inverse);
};

const logSoftmax: Emit = (program, [x]) => {
  const { shifted, powers } = exponentials(program, x!);
  return program.step('sub', shifted, program.step('log', program.reduced('sumRow', powers)));
};

const softmaxGradient: Emit = (program, [dy, y]) => {
  const weighted = program.reduced('sumRow', program.step('mul', dy!, y!));
  return program.step('mul', program.step('sub', dy!, weighted), y!);
};

const logSoftmaxGradient: Emit = (program, [dy, y]) => {
  const total = program.reduced('sumRow', dy!);
  return program.step('sub', dy!, program.step('mul', program.step('exp', y!), total));
};

/** Reductions: the dims are the second argument, and the third says whether they stay as 1. */
const REDUCTIONS: Readonly<Record<string, Emit>> = {
  'aten::sum.dim_IntList': sum,
  'aten::mean.dim': mean,
  'aten::amax': max,
};

/** Operators on the last dim, and the place of the argument that names it. */
const NORMALISATIONS: Readonly<Record<string, { readonly emit: Emit; readonly dimAt: number }>> = {
  'aten::_softmax': { emit: softmax, dimAt: 1 },
  'aten::_log_softmax': { emit: logSoftmax, dimAt: 1 },
  'aten::_softmax_backward_data': { emit: softmaxGradient, dimAt: 2 },
  'aten::_log_softmax_backward_data': { emit: logSoftmaxGradient, dimAt: 2 },
};

/** Whether an operator may work on rows. `rowForm` tells whether a call of it does. */
export const isRowOperator = (op: string): boolean =>
  Object.hasOwn(REDUCTIONS, op) || Object.hasOwn(NORMALISATIONS, op);

/** How a call of an operator on rows is part of a program, or why it cannot be. */
export function rowForm(call: Call, graph: Graph): RowForm | string {
  const form = Object.hasOwn(REDUCTIONS, call.op) ? reduction(call, graph) : normalisation(call, graph);
  if (typeof form === 'string') return form;
  const { shape, dtype } = graph.values[call.uses[0]!]!;
  if (sizeOf(shape) === 0) return 'it has no elements';
  if (dtype !== graph.values[call.results[0]!]!.dtype) return 'it converts';
  if (!isRowLength(form.row)) return `its rows are too short or too long: ${form.row}`;
  return form;
}

function reduction({ op, uses, args }: Call, { values }: Graph): RowForm | string {
  const { shape } = values[uses[0]!]!;
  const dims = dimsOf(args[1], shape.length);
  const [first, last] = [dims[0]!, dims.at(-1)!];
  if (dims.length === 0 || last - first + 1 !== dims.length) return 'it reduces separate dims';
  if (last === shape.length - 1) {
    const row = sizeOf(shape.slice(first));
    return { result: 'rows', row, emit: (program, operands) => REDUCTIONS[op]!(program, operands, row) };
  }
  if (first !== 0 || op !== 'aten::sum.dim_IntList') return 'it reduces neither the last nor the first dims';
  return { result: 'columns', row: sizeOf(shape.slice(last + 1)), emit: (_program, [x]) => x! };
}

function normalisation({ op, uses, args }: Call, { values }: Graph): RowForm | string {
  const { emit, dimAt } = NORMALISATIONS[op]!;
  const operands = uses.map((value) => values[value]!);
  const { shape, dtype } = operands[0]!;
  if (dimsOf(args[dimAt], shape.length)[0] !== shape.length - 1) return 'it is not along the last dim';
  if (operands.some((each) => each.dtype !== dtype)) return 'its operands have different dtypes';
  const row = shape.at(-1)!;
  return { result: 'elements', row, emit: (program, given) => emit(program, given, row) };
}

const sizeOf = (shape: readonly number[]): number => util.sizeFromShape([...shape]);

/** The dims that an argument names, in their order. No dims mean all. */
function dimsOf(arg: Call['args'][number] | undefined, rank: number): number[] {
  const given = typeof arg === 'number' ? [arg] : Array.isArray(arg) ? arg.map(Number) : [];
  const dims = given.map((dim) => (dim < 0 ? dim + rank : dim));
  return dims.length > 0 ? dims.toSorted((a, b) => a - b) : Array.from({ length: rank }, (_, dim) => dim);
}

/** Whether a value of one number for each row of `row` elements is broadcast over rows to `shape`. */
export function isSpreadOverRows(given: readonly number[], shape: readonly number[], row: number): boolean {
  const padded = [...shape.map(() => 1), ...given].slice(-shape.length);
  if (given.length > shape.length) return false;
  let [dim, length] = [shape.length, 1];
  while (length < row && dim > 0) {
    dim--;
    if (padded[dim] !== 1) return false;
    length *= shape[dim]!;
  }
  return length === row && padded.slice(0, dim).every((size, d) => size === shape[d]);
}
