import { array, assert, constantFrom, integer, nat, property, record, tuple } from 'fast-check';
import { expect, it } from 'vitest';
import type { NativeDtype } from '@acc/contract';
import { cpuHas } from '@acc/testkit';
import { scalarTypeOf } from './dtype.js';
import { numThreads, setNumThreads } from './memory.js';
import { operator, operatorWithResults } from './operator.js';
import { tensorFrom, type Tensor } from './tensor.js';

// Random programs give the same bits as machine code and by the interpreter. The operator refuses to
// compile where there is no machine code.

const runProgram = operatorWithResults('acc::program');
const transpose = operator('aten::t');
const convert = operator('aten::to.dtype');

const RUNS = 1500;
/** Numbers of operators in cpp/engine/fused/program.h, and the number of their operands. */
const [SUM_ROW, MAX_ROW, SPREAD] = [29, 30, 31];
const PAIR_OPERATORS = 14;
/** Extents. */
const [ELEMENTS, ROWS, COLUMNS] = [0, 1, 2];
/** Of a constant. */
const ANY = -1;

/** Numbers at which operators and roundings differ. */
const SPECIAL = [
  0,
  -0,
  NaN,
  Infinity,
  -Infinity,
  1e-40,
  -1e-40,
  3.4e38,
  -3.4e38,
  1,
  -1,
  1.00390625,
  1.01171875,
];

const lengths = constantFrom(1, 2, 3, 7, 15, 16, 17, 31, 32, 33, 100, 1024, 1025);
const dtypes = constantFrom<NativeDtype>('float32', 'bfloat16', 'bool');
const cases = record({
  // The largest ones run in two threads.
  rows: constantFrom(1, 2, 3, 5, 33, 130),
  row: lengths,
  inputs: array(
    tuple(constantFrom('whole', 'whole', 'rows', 'columns', 'number', 'transposed', 'of rows'), dtypes),
    { minLength: 1, maxLength: 6 },
  ),
  constants: array(constantFrom(...SPECIAL, 0.5, 3), { maxLength: 3 }),
  steps: array(tuple(nat(SPREAD), nat(), nat(), nat()), { minLength: 1, maxLength: 60 }),
  results: array(tuple(nat(), dtypes), { minLength: 1, maxLength: 4 }),
  sums: array(nat(), { maxLength: 2 }),
  seed: integer({ min: 1, max: 2 ** 30 }),
  threads: constantFrom(1, 2),
});
type Case = typeof cases extends { generate: (...args: never[]) => { value: infer T } } ? T : never;

/** Random numbers, of which a tenth is special. */
function numbers(count: number, seed: number): Float32Array {
  let state = seed;
  const next = () => (state = (Math.imul(state, 1103515245) + 12345) & 0x7fffffff) / 2 ** 31;
  return Float32Array.from({ length: count }, () =>
    next() < 0.1 ? SPECIAL[Math.floor(next() * SPECIAL.length)]! : (next() * 2 - 1) * 10 ** (next() * 6 - 3),
  );
}

function inputOf(kind: string, dtype: NativeDtype, { rows, row, seed }: Case): Tensor {
  const shapes: Record<string, number[]> = {
    whole: [rows, row],
    rows: [rows, 1],
    columns: [row],
    number: [],
    transposed: [row, rows],
    'of rows': [rows],
  };
  const shape = shapes[kind]!;
  const count = shape.reduce((product, size) => product * size, 1);
  using floats = tensorFrom(numbers(count, seed), 'float32', shape);
  using converted = convert(floats, dtype);
  return kind === 'transposed' ? transpose(converted) : converted.alias();
}

/** The program of a case, in numbers. Operands are chosen among those that fit. */
function programOf({ rows, row, inputs, constants, steps, results, sums }: Case): number[] {
  const extents = inputs.map(([kind]) => (kind === 'of rows' ? ROWS! : ELEMENTS!));
  const inputCode = extents.flatMap((extent) =>
    extent === ROWS ? [extent, 1, rows] : [extent, 2, rows, row],
  );
  const code = [inputs.length, ...inputCode, constants.length];
  for (const number of constants) {
    code.push(extents.length, number);
    extents.push(ANY);
  }
  const choose = (choice: number, ...wanted: number[]): number | undefined => {
    const fitting = extents.flatMap((extent, i) => (extent === ANY || wanted.includes(extent) ? [i] : []));
    return fitting.length === 0 ? undefined : fitting[choice % fitting.length];
  };
  const first = extents.length;
  const stepCode: number[][] = [];
  for (const [op, ...choices] of steps) {
    const step = stepOf(op, choices, (choice, ...wanted) => choose(choice, ...wanted), extents);
    if (!step) continue;
    stepCode.push([op, step.extent, extents.length, ...step.operands]);
    extents.push(step.extent);
  }
  code.push(stepCode.length, ...stepCode.flat());
  const made = new Map(
    results.map(([choice, dtype]) => [first + (choice % Math.max(1, stepCode.length)), dtype]),
  );
  if (stepCode.length === 0) made.clear();
  const resultCode = [...made].map(([reg, dtype]) => [
    ...[reg, extents[reg]!, scalarTypeOf(dtype)],
    ...(extents[reg] === ROWS ? [1, rows] : [2, rows, row]),
  ]);
  const elements = extents.flatMap((extent, i) => (extent === ELEMENTS ? [i] : []));
  for (const choice of elements.length > 0 ? sums : []) {
    resultCode.push([elements[choice % elements.length]!, COLUMNS!, scalarTypeOf('float32'), 1, row]);
  }
  return [rows * row, row, extents.length, ...code, resultCode.length, ...resultCode.flat()];
}

function stepOf(
  op: number,
  choices: readonly number[],
  choose: (choice: number, ...wanted: number[]) => number | undefined,
  extents: readonly number[],
): { extent: number; operands: number[] } | undefined {
  const reduces = op === SUM_ROW || op === MAX_ROW;
  const isRow = op === SPREAD || (!reduces && choices[0]! % 6 === 0);
  const wanted = op === SPREAD || (isRow && !reduces) ? ROWS! : ELEMENTS!;
  const count = op < PAIR_OPERATORS ? 2 : 3;
  const takesBoth = count === 2 && wanted === ELEMENTS && choices[1]! % 3 === 0;
  const operands = choices.map((choice, i) =>
    takesBoth && i === 1 && extents[choose(choices[0]!, wanted) ?? -1] === ELEMENTS
      ? choose(choice, ELEMENTS!, ROWS!)
      : choose(choice, wanted),
  );
  if (operands.includes(undefined)) return undefined;
  const extent = reduces ? ROWS! : op === SPREAD ? ELEMENTS! : wanted;
  return { extent, operands: operands as number[] };
}

/** The bits of a tensor's elements. All NaN are one. */
function bitsOf(x: Tensor): Buffer {
  using floats = convert(x, 'float32');
  const values = floats.read() as Float32Array;
  return Buffer.from(values.map((value) => (Number.isNaN(value) ? NaN : value)).buffer);
}

/** Compares the results of random programs that run in two ways. */
function expectSameBits(run: (inputs: readonly Tensor[], program: number[], one: Case) => Tensor[][]): void {
  const threads = numThreads();
  assert(
    property(cases, (one) => {
      setNumThreads(one.threads);
      const program = programOf(one);
      const inputs = one.inputs.map(([kind, dtype]) => inputOf(kind, dtype, one));
      const [first, second] = run(inputs, program, one);
      first!.forEach((x, i) => expect(bitsOf(second![i]!).equals(bitsOf(x))).toBe(true));
      for (const x of [...inputs, ...first!, ...second!]) x.dispose();
    }),
    { numRuns: RUNS },
  );
  setNumThreads(threads);
}

it.each(cpuHas('avx512f') ? ['machine code'] : [])('gives the same bits as %s and by the interpreter', () => {
  expectSameBits((inputs, program) =>
    [false, true].map((compiles) => runProgram(inputs, program, null, compiles).flat() as Tensor[]),
  );
});

it('gives the same bits by the interpreter each time', () => {
  expectSameBits((inputs, program) =>
    [1, 2].map(() => runProgram(inputs, program, null, false).flat() as Tensor[]),
  );
});
