import { array, constantFrom, nat, record, tuple, type Arbitrary } from 'fast-check';
import type { Operand, StepOperator } from '../../packages/kernels/src/fusion/fused-program.js';
import { CaseBuilder, SAME_BITS, type InputCase, type ProgramCase } from './program-case.js';

// Random programs on small integers. All sums are exact, in any order, so every bit must be right.

const SINGLES = ['neg', 'abs', 'relu', 'not', 'copy', 'roundToBfloat16'] as const;
const PAIRS = [
  ...(['add', 'sub', 'mul', 'max', 'min', 'greater', 'lessEqual', 'equal', 'notEqual', 'and', 'or'] as const),
];
const REDUCTIONS = ['sumRow', 'maxRow'] as const;
type Step = StepOperator | (typeof REDUCTIONS)[number] | 'number';

interface Choice {
  readonly op: Step;
  readonly operands: readonly [number, number, number];
  readonly isResult: boolean;
}

export interface RandomProgram {
  /** The number of rows, the sizes whose product is a row, and whether there are rows at all. */
  readonly sizes: readonly [number, number, number];
  readonly hasRows: boolean;
  readonly inputs: readonly { readonly dtype: number; readonly layout: number; readonly shape: number }[];
  readonly steps: readonly Choice[];
}

export const randomPrograms: Arbitrary<RandomProgram> = record({
  sizes: tuple(constantFrom(1, 3, 40), constantFrom(1, 4), constantFrom(1, 7, 37, 150)),
  hasRows: constantFrom(true, true, false),
  inputs: array(record({ dtype: nat(4), layout: nat(2), shape: nat(5) }), { minLength: 1, maxLength: 5 }),
  steps: array(
    record({
      op: constantFrom<Step>(...SINGLES, ...PAIRS, ...REDUCTIONS, ...REDUCTIONS, 'select', 'number'),
      operands: tuple(nat(40), nat(40), nat(40)),
      isResult: constantFrom(true, false, false),
    }),
    { minLength: 1, maxLength: 20 },
  ),
});

const LIMIT = 8;

export function caseOf({ sizes, hasRows, inputs, steps }: RandomProgram): ProgramCase {
  const [count, planes, columns] = sizes;
  const made = new CaseBuilder([count, planes, columns], hasRows ? planes * columns : 0);
  const operands: Operand[] = inputs.map((input, i) => inputOf(made, sizes, hasRows, { ...input, seed: i }));
  let last: Operand | undefined;
  for (const { op, operands: places, isResult } of steps) {
    const [a, b, c] = places.map((place) => operands[place % operands.length]!) as [
      Operand,
      Operand,
      Operand,
    ];
    const isReduction = op === 'sumRow' || op === 'maxRow';
    if (isReduction && !hasRows) continue;
    const operand = op === 'number' ? made.program.constant(places[0] - 20) : stepOf(made, op, [a, b, c]);
    operands.push(operand);
    if (op === 'number') continue;
    last = operand;
    if (isResult) addResults(made, operand, places[0]);
  }
  if (last === undefined) last = made.program.step('copy', operands[0]!);
  addResults(made, last, 0);
  return made.build('random program');
}

function inputOf(
  made: CaseBuilder,
  [count, planes, columns]: readonly number[],
  hasRows: boolean,
  { dtype, layout, shape, seed }: { dtype: number; layout: number; shape: number; seed: number },
): Operand {
  const dtypes = ['float32', 'bfloat16', 'bool', 'int32', 'int64'] as const;
  const layouts = ['whole', 'sliced', 'transposed'] as const;
  const shapes = [
    [count, planes, columns],
    [count, planes, columns],
    [planes, columns],
    [count, 1, columns],
    [planes, 1],
    [count, 1, 1],
  ] as number[][];
  const given: InputCase = {
    dtype: dtypes[dtype]!,
    layout: layouts[layout]!,
    shape: shapes[shape]!,
    numberAt: (place) => ((place * 5 + seed * 3) % 13) - 6,
  };
  const isOfRows = hasRows && shape === 5;
  if (!isOfRows) return made.input(given);
  const of = { ...given, shape: [count!], layout: layout === 2 ? ('sliced' as const) : given.layout };
  return made.input(of, 'rows');
}

/** A step, and then the nearest number within the limits, so that all numbers stay small. */
function stepOf(
  { program }: CaseBuilder,
  op: Exclude<Step, 'number'>,
  [a, b, c]: readonly Operand[],
): Operand {
  if (op === 'sumRow' || op === 'maxRow') return limited(program, program.reduced(op, a!));
  if (op === 'select') return program.step(op, a!, b!, c!);
  const isPair = PAIRS.some((pair) => pair === op);
  return limited(program, program.step(op, ...(isPair ? [a!, b!] : [a!])));
}

const limited = (program: CaseBuilder['program'], x: Operand): Operand =>
  program.step('max', program.step('min', x, program.constant(LIMIT)), program.constant(-LIMIT));

/** The operand as a result of its extent, and, of elements, the sum of each column. */
function addResults(made: CaseBuilder, operand: Operand, choice: number): void {
  const extent = made.program.extentOf(operand)!;
  const dtype = (['float32', 'bfloat16', 'bool'] as const)[choice % 3]!;
  made.result(made.program.step('copy', operand), SAME_BITS, { extent, dtype });
  if (extent === 'elements' && made.hasRows && choice % 2 === 0) {
    made.result(operand, SAME_BITS, { extent: 'columns' });
  }
}
