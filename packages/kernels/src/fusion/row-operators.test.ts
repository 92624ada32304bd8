import { beforeAll, describe, expect, it } from 'vitest';
import { numThreads, operator, setNumThreads, type Tensor as Native } from '@acc/native';
import { isSpreadOverRows } from './row-operators.js';
import { shortName } from './report.js';
import { castTo, difference, negated, Replayer, type Operand } from './testing-replays.js';

// Each operator on rows, in a fused program and alone.

let replayer: Replayer;
beforeAll(async () => {
  replayer = await Replayer.create();
});

const sum = operator('aten::sum.dim_IntList');
const mean = operator('aten::mean.dim');
const max = operator('aten::amax');
const softmax = operator('aten::_softmax');
const logSoftmax = operator('aten::_log_softmax');
const softmaxGradient = operator('aten::_softmax_backward_data');
const logSoftmaxGradient = operator('aten::_log_softmax_backward_data');
const add = operator('aten::add.Tensor');
const multiply = operator('aten::mul.Tensor');
const subtract = operator('aten::sub.Tensor');
const scaled = operator('aten::mul.Scalar');

type Step = (...xs: Native[]) => Native;

/** Relative to numbers above 1. Rows have up to a few hundred numbers that are added. */
const BOUNDS = { float32: 4e-6, bfloat16: 2 ** -6 };

/**
 * Compares replays with and without fusion.
 *
 * @param names The operators that must be part of a program.
 */
function check(
  names: readonly string[],
  operands: readonly Operand[],
  run: Step,
  bounds: typeof BOUNDS = BOUNDS,
): void {
  const alone = replayer.replayed(operands, run, false);
  const exact = replayer.replayed(operands, run, 'exact');
  const close = replayer.replayed(operands, run, true);
  expect(close.fused).toEqual(expect.arrayContaining([...names]));
  alone.values.forEach((values, k) => {
    expect(difference(values, exact.values[k]!, NaN)).toBeUndefined();
    expect(difference(values, close.values[k]!, bounds[alone.dtype as 'float32'])).toBeUndefined();
  });
}

/** Operators, each after another one, and the dtypes of their results. */
const OPERATORS: Readonly<Record<string, Step>> = {
  'sum.dim_IntList': (x) => sum(negated(x), [1], true, null),
  'mean.dim': (x) => mean(negated(x), [-1], false, null),
  amax: (x) => max(negated(x), [1], true),
  _softmax: (x) => softmax(negated(x), 1, false),
  _log_softmax: (x) => logSoftmax(negated(x), -1, false),
};
const GRADIENTS = { _softmax: softmaxGradient, _log_softmax: logSoftmaxGradient };

// Rows of less than a block, of which the last block is not full, and rows longer than a block.
const SHAPES = [
  [5, 301],
  [301, 5],
  [1, 32],
  [3, 2049],
];

describe.each(['float32', 'bfloat16'] as const)(
  'in %s, an operator computes in a program as alone',
  (dtype) => {
    it.each(Object.entries(OPERATORS))('%s', (op, run) => {
      for (const shape of SHAPES) check([shortName(`aten::${op}`)], [[dtype, shape]], run);
    });

    it.each(Object.entries(GRADIENTS))('the gradient of %s', (op, gradient) => {
      for (const shape of SHAPES) {
        const operand: Operand = [dtype, shape];
        const run: Step = (x, dy) => gradient(negated(dy), OPERATORS[op]!(x), 1, dtype as never);
        check([op, `${op}_backward_data`], [operand, operand], run);
      }
    });

    it('sums of columns', () => {
      for (const shape of SHAPES) check(['sum'], [[dtype, shape]], (x) => sum(negated(x), [0], false, null));
      check(['sum'], [[dtype, [5, 6, 7]]], (x) => sum(negated(x), [0, 1], true, null));
    });
  },
);

it('computes means of several dims, and broadcasts them', () => {
  check(['mean', 'sub'], [['float32', [6, 5, 7]]], (x) => subtract(x, mean(x, [1, 2], true, null), 1));
});

it('takes and gives numbers for each row beside elements', () => {
  const operands: Operand[] = [
    ['float32', [40, 30]],
    ['bfloat16', [40, 1]],
    ['float32', [30]],
  ];
  check(['sum', 'neg', 'mul', 'add'], operands, (x, of_row, of_column) => {
    const scale = negated(multiply(sum(x, [1], true, null), of_row));
    return add(multiply(scale, x), of_column, 1);
  });
});

describe('operators with two operands', () => {
  const NAMES = ['add.Tensor', 'sub.Tensor', 'mul.Tensor', 'div.Tensor', 'maximum', 'minimum'];
  const COMPARISONS = ['gt.Tensor', 'ge.Tensor', 'lt.Tensor', 'le.Tensor', 'eq.Tensor', 'ne.Tensor'];
  it.each([...NAMES, ...COMPARISONS, 'logical_and', 'logical_or'])('%s of elements and rows', (name) => {
    const run = operator(`aten::${name}`);
    const scale = ['add.Tensor', 'sub.Tensor'].includes(name) ? [1] : [];
    const both = (a: Native, b: Native): Native => castTo(run(a, b, ...scale), 'float32');
    // The largest of each row, which some elements equal, on either side, and between both.
    check([shortName(`aten::${name}`), 'amax'], [['float32', [70, 30]]], (x) => {
      const largest = max(negated(x), [1], true);
      const sides = scaled(both(negated(x), largest), 0.5);
      return add(add(sides, both(largest, negated(x)), 1), both(largest, negated(largest)), 1);
    });
  });
});

it('rows whose number is that of columns stay rows', () => {
  check(['mul', 'sum'], [['float32', [32, 32]]], (x) => {
    const doubled = multiply(x, x);
    return multiply(doubled, sum(doubled, [1], false, null));
  });
  check(['mul', 'sum'], [['float32', [32, 32]]], (x) => {
    const doubled = multiply(x, x);
    return multiply(doubled, sum(doubled, [0], false, null));
  });
});

it('computes rows and sums of columns in several threads, the same each time', () => {
  const threads = numThreads();
  setNumThreads(3);
  const large: Operand = ['float32', [1000, 301]];
  check(['_softmax', 'mul'], [large, ['float32', [1000, 1]]], (x, y) => softmax(multiply(x, y), 1, false));
  const columns: Step = (x) => sum(negated(x), [0], false, null);
  // A thousand numbers that partly cancel.
  check(['sum'], [large], columns, { ...BOUNDS, float32: 4e-5 });
  const [first, second] = [0, 1].map(() => replayer.replayed([large], columns, true).values);
  expect(second).toEqual(first);
  setNumThreads(threads);
});

it('leaves rows alone that are too short, too long or empty', () => {
  for (const shape of [
    [7, 1],
    [1, 3],
    [2, 20_000],
    [0, 301],
    [5, 0],
  ]) {
    const operand: Operand = ['float32', shape];
    const total = replayer.replayed([operand], OPERATORS['sum.dim_IntList']!, true);
    expect(total.fused).not.toContain('sum');
    expect(total.values).toEqual(replayer.replayed([operand], OPERATORS['sum.dim_IntList']!, false).values);
  }
});

it('sums at least as exactly as libtorch', () => {
  const operand: Operand = ['float32', [200, 4000]];
  const error = (fusion: boolean, run: Step, reference: Step): number => {
    const { values } = replayer.replayed([operand], (x) => castTo(run(x), 'float32'), fusion);
    const exact = replayer.replayed([operand], reference, false).values;
    return values[0]!.reduce((total, value, i) => {
      const off = Math.abs(value - exact[0]![i]!);
      return Number.isFinite(off) ? total + off : total;
    }, 0);
  };
  for (const dim of [0, 1]) {
    const run: Step = (x) => sum(negated(x), [dim], false, null);
    const reference: Step = (x) => castTo(sum(castTo(negated(x), 'float64'), [dim], false, null), 'float32');
    expect(error(true, run, reference)).toBeLessThanOrEqual(error(false, run, reference) * 1.05);
  }
});

it('knows broadcasts over rows', () => {
  expect(isSpreadOverRows([8, 1], [8, 4], 4)).toBe(true);
  expect(isSpreadOverRows([2, 1, 1], [2, 3, 4], 12)).toBe(true);
  expect(isSpreadOverRows([1], [4], 4)).toBe(true);
  expect(isSpreadOverRows([8], [8, 8], 8)).toBe(false);
  expect(isSpreadOverRows([2, 1], [8, 2, 4], 4)).toBe(false);
  expect(isSpreadOverRows([2, 3, 1], [2, 3, 4], 12)).toBe(false);
});
