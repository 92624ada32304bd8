import type { Operand, StepOperator } from '../../packages/kernels/src/fusion/fused-program.js';
import { CaseBuilder, finite, SAME_BITS, type ProgramCase } from './program-case.js';

// Programs with every operator, extent, dtype and layout, for devices that must compute as a CPU does.

/** Functions of several operations, and sums, which a CPU adds in another order. */
const CLOSE = 1e-6;
/** Functions that lie between a CPU and a GPU are rounded to neighbours. */
const CLOSE_BFLOAT16 = 2 ** -7;

const PAIRS: readonly StepOperator[] = [
  ...(['add', 'sub', 'mul', 'div', 'max', 'min'] as const),
  ...(['greater', 'greaterEqual', 'less', 'lessEqual', 'equal', 'notEqual', 'and', 'or'] as const),
];
const EXACT: readonly StepOperator[] = [
  ...(['neg', 'abs', 'sqrt', 'rsqrt', 'reciprocal', 'relu', 'not', 'copy', 'roundToBfloat16'] as const),
];
const FUNCTIONS: readonly StepOperator[] = ['tanh', 'sigmoid', 'exp', 'log', 'erf'];

/** Every operator with two operands, of which either may be a number. */
function pairs(): ProgramCase {
  const made = new CaseBuilder([5, 301]);
  const [a, b] = [made.input(), made.input()];
  for (const op of PAIRS) {
    const [half, tenth] = [made.program.constant(0.5), made.program.constant(Math.fround(-0.1))];
    made.result(made.program.step(op, a, b), SAME_BITS, { name: op });
    made.result(made.program.step(op, a, half), SAME_BITS, { name: `${op} of a number` });
    made.result(made.program.step(op, tenth, b), SAME_BITS, { name: `${op} with a number` });
  }
  return made.build('operators with two operands');
}

/** The same beside a number for each row. */
function pairsWithRows(): ProgramCase {
  const made = new CaseBuilder([6, 50], 50);
  const [a, row] = [made.input(), made.input({ shape: [6] }, 'rows')];
  const largest = made.program.reduced('maxRow', a);
  for (const op of PAIRS) {
    made.result(made.program.step(op, a, row), SAME_BITS, { name: `${op} of a row` });
    made.result(made.program.step(op, largest, a), SAME_BITS, { name: `${op} with a row` });
    const ofRows = made.program.step(op, row, largest);
    made.result(ofRows, SAME_BITS, { name: `${op} of rows`, extent: 'rows' });
  }
  return made.build('operators on rows and elements');
}

function singles(): ProgramCase {
  const made = new CaseBuilder([5, 301]);
  const [a, b, c] = [made.input(), made.input(), made.input()];
  for (const op of EXACT) made.result(made.program.step(op, a), SAME_BITS, { name: op });
  for (const op of FUNCTIONS) made.result(made.program.step(op, b), CLOSE, { name: op });
  made.result(made.program.step('select', made.program.step('greater', a, b), b, c));
  made.result(made.program.step('select', a, made.program.constant(NaN), c));
  return made.build('operators with one operand and three');
}

function dtypes(): ProgramCase {
  const made = new CaseBuilder([7, 33]);
  const whole = (seed: number) => (place: number) => Math.round(1000 * finite(seed)(place));
  const inputs = [
    made.input(),
    made.input({ dtype: 'bfloat16' }),
    made.input({ dtype: 'bool' }),
    made.input({ dtype: 'int32', numberAt: whole(1) }),
    made.input({ dtype: 'int64', numberAt: whole(2) }),
  ];
  for (const [i, x] of inputs.entries()) {
    for (const dtype of ['float32', 'bfloat16', 'bool'] as const) {
      made.result(made.program.step('add', x, inputs[(i + 1) % inputs.length]!), SAME_BITS, { dtype });
    }
  }
  return made.build('dtypes');
}

function layouts(): ProgramCase {
  const made = new CaseBuilder([3, 4, 50]);
  const all = [
    made.input(),
    made.input({ layout: 'transposed' }),
    made.input({ layout: 'sliced' }),
    made.input({ shape: [4, 1], layout: 'sliced' }),
    made.input({ shape: [3, 1, 50], layout: 'sliced', dtype: 'bfloat16' }),
    made.input({ shape: [50, 1].toReversed(), layout: 'transposed', dtype: 'bool' }),
    made.input({ shape: [] }),
    made.input({ shape: [1] }),
  ];
  let [sum] = all as [Operand, ...Operand[]];
  for (const x of all.slice(1)) {
    sum = made.program.step('add', sum, x);
    made.result(sum);
  }
  return made.build('layouts and broadcasts');
}

/** A row program of layouts, whose inputs are read by row and column where that is simpler. */
function rowLayouts(): ProgramCase {
  const made = new CaseBuilder([2, 3, 4, 50], 200);
  const whole = (seed: number) => (place: number) => (place * 7 + seed) % 9;
  const all = [
    made.input({ numberAt: whole(1) }),
    made.input({ layout: 'transposed', numberAt: whole(2) }),
    made.input({ shape: [4, 50], layout: 'sliced', numberAt: whole(3) }),
    made.input({ shape: [50], dtype: 'bfloat16', numberAt: whole(4) }),
    made.input({ shape: [2, 1, 4, 1], numberAt: whole(5) }),
    made.input({ shape: [3, 1, 1], numberAt: whole(6) }),
  ];
  const row = made.input({ shape: [6], layout: 'sliced', numberAt: whole(7) }, 'rows');
  let [sum] = all as [Operand, ...Operand[]];
  for (const x of all.slice(1)) {
    sum = made.program.step('add', sum, x);
    const total = made.program.reduced('sumRow', sum);
    made.result(made.program.step('add', total, row), SAME_BITS, { extent: 'rows' });
    made.result(made.program.step('mul', sum, total), SAME_BITS);
    made.result(sum, SAME_BITS, { extent: 'columns' });
  }
  return made.build('layouts and broadcasts of rows');
}

/** Softmax, normalisation, numbers of rows, and sums of columns. */
function rows(count: number, row: number): ProgramCase {
  const made = new CaseBuilder([count, row], row);
  const { program } = made;
  const [x, gain] = [made.input({ numberAt: finite(1) }), made.input({ shape: [row], numberAt: finite(2) })];
  const largest = program.reduced('maxRow', x);
  const powers = program.step('exp', program.step('sub', x, largest));
  const softmax = program.step('mul', powers, program.step('reciprocal', program.reduced('sumRow', powers)));
  const mean = program.step('div', program.reduced('sumRow', x), program.constant(row));
  const centred = program.step('sub', x, mean);
  const squares = program.reduced('sumRow', program.step('mul', centred, centred));
  const variance = program.step(
    'add',
    program.step('div', squares, program.constant(row)),
    program.constant(0.125),
  );
  const normal = program.step('mul', centred, program.step('rsqrt', variance));
  made.result(softmax, CLOSE);
  made.result(program.step('mul', normal, gain), 4 * CLOSE);
  made.result(program.step('add', normal, softmax), CLOSE_BFLOAT16, { dtype: 'bfloat16' });
  made.result(program.step('copy', largest), SAME_BITS, { extent: 'rows' });
  made.result(mean, CLOSE, { extent: 'rows' });
  made.result(x, 16 * CLOSE, { extent: 'columns' });
  made.result(normal, 32 * CLOSE, { extent: 'columns' });
  made.result(softmax, CLOSE_BFLOAT16, { extent: 'columns', dtype: 'bfloat16' });
  return made.build(`${count} rows of ${row}`);
}

/** So many rows that one part has several of them, each longer than its threads. */
function columns(): ProgramCase {
  const made = new CaseBuilder([70, 16384], 16384);
  const x = made.input({ numberAt: finite(1) });
  made.result(made.program.step('mul', x, x), 16 * CLOSE, { extent: 'columns' });
  return made.build('sums of long columns');
}

function specialRows(): ProgramCase {
  const made = new CaseBuilder([41, 64], 64);
  const special = [NaN, Infinity, -Infinity, -0];
  // Most rows have none or one of them.
  const x = made.input({ numberAt: (place) => (place % 97 < 4 ? special[place % 97]! : -(place % 5)) });
  made.result(made.program.reduced('maxRow', x), 0, { extent: 'rows' });
  made.result(made.program.reduced('sumRow', x), SAME_BITS, { extent: 'rows' });
  made.result(made.program.spread(made.program.reduced('sumRow', made.program.step('not', x))), SAME_BITS);
  return made.build('special numbers in rows');
}

/** A step that computes with numbers alone. */
function numbers(): ProgramCase {
  const made = new CaseBuilder([3, 40], 40);
  const x = made.input();
  const three = made.program.constant(3);
  made.program.extentOfConstants = 'rows';
  const ofRows = made.program.step('mul', three, made.program.constant(-0.5));
  made.result(ofRows, SAME_BITS, { extent: 'rows' });
  made.program.extentOfConstants = 'elements';
  made.result(made.program.step('add', three, made.program.constant(Infinity)));
  made.result(made.program.step('mul', x, made.program.step('copy', three)));
  made.result(made.program.reduced('sumRow', made.program.step('copy', three)), SAME_BITS, {
    extent: 'rows',
  });
  return made.build('numbers');
}

function empty(shape: readonly number[], row: number): ProgramCase {
  const made = new CaseBuilder(shape, row);
  const x = made.input();
  made.result(made.program.step('neg', x));
  if (row > 0) {
    made.result(made.program.reduced('sumRow', x), SAME_BITS, { extent: 'rows' });
    made.result(x, SAME_BITS, { extent: 'columns' });
  }
  return made.build(`no elements, rows of ${row}`);
}

export const CASES: readonly ProgramCase[] = [
  pairs(),
  pairsWithRows(),
  singles(),
  dtypes(),
  layouts(),
  rowLayouts(),
  specialRows(),
  columns(),
  numbers(),
  empty([0, 5], 0),
  empty([0, 5], 5),
  // A warp has several rows, or a part of one; a thread has one element or many; parts have several rows.
  ...[
    [3, 4],
    [7, 5],
    [5, 32],
    [4, 33],
    [9, 128],
    [3, 129],
    [2, 300],
    [3, 768],
    [2, 2048],
    [2, 2049],
    [2, 5000],
    [2, 16384],
    [3000, 6],
  ].map(([count, row]) => rows(count!, row!)),
];
