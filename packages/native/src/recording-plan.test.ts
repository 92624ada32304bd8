import { describe, expect, it } from 'vitest';
import { operator, operatorInPlace } from './operator.js';
import { operatorIndex, type Recording } from './recording.js';
import { META, pair, record, replayed, valuesOf } from './test-support.js';

const add = operator('aten::add.Tensor');
const multiply = operator('aten::mul.Scalar');
const addTo = operatorInPlace('aten::add_.Tensor');

describe('a plan', () => {
  // The values of the recording of 2·x + x are x, 2·x and the sum; its calls are a product and a sum.
  const recorded = () => record((x) => add(multiply(x, 2), x)) as Recording;
  const KEPT = [1, 0, 1, 0];
  const END = 0;
  const ADD = 0;
  const EACH = 0;
  /** x + x as a program without rows: an input and a result, of two elements each, in two registers. */
  const TWICE = [
    ...[2, 0, 2, ...[1, EACH, 1, 2], 0],
    ...[...[1, ADD, EACH, 1, 0, 0, 0], ...[1, 1, EACH, 6, 1, 2]],
  ];
  const fused = (program: readonly number[], uses = [0], results = [1]) => [
    ...[2, uses.length, ...uses, results.length, ...results],
    ...program,
  ];

  it('replaces calls by a program', () => {
    const recording = recorded();
    recording.rewrite([...fused(TWICE), 1, 1, 2, 1, 0, END]);
    recording.seal();
    expect(replayed(recording, pair(3, 4))).toEqual([9, 12]);
    recording.dispose();
  });

  /** The program with another number at `place`. */
  const changed = (place: number, number: number) => fused(TWICE.with(place, number));

  const [NONE, VALUE, VALUES, NUMBER, NUMBERS] = [0, 1, 2, 3, 4];
  /** Value 1: two float32. */
  const PRODUCT = [1, 6, 1, 2];
  const called = (name: string, args: readonly number[], results = [1, ...PRODUCT]) => [
    ...[3, operatorIndex(name), ...args],
    ...results,
  ];
  const SUM = [1, 1, 2, 1, 0];

  it('replaces calls by operators, which may return new values', () => {
    const recording = recorded();
    const squares = called('aten::mul.Tensor', [2, VALUE, 0, VALUE, 0], [1, ...[4, 6, 1, 2]]);
    const twice = called('aten::add.Tensor', [3, VALUE, 4, VALUE, 4, NUMBER, 0.5]);
    recording.rewrite([...squares, ...twice, ...SUM, END]);
    recording.seal();
    expect(replayed(recording, pair(3, 4))).toEqual([1.5 * 9 + 3, 1.5 * 16 + 4]);
    recording.dispose();
  });

  it('returns new values from programs, and gives them instead of the recorded outputs', () => {
    const recording = recorded();
    const OUTPUTS = 5;
    recording.rewrite([...fused(TWICE, [0], [7]), ...fused(TWICE, [7], [8]), OUTPUTS, 1, 8, END]);
    recording.seal();
    expect(replayed(recording, pair(3, 4))).toEqual([12, 16]);
    recording.dispose();
  });

  it('gives floats where integers would lose something', () => {
    const recording = recorded();
    const of = (number: number) => called('aten::full_like', [2, VALUE, 0, NUMBER, number]);
    recording.rewrite([...of(-0), 5, 1, 1, END]);
    recording.seal();
    expect(replayed(recording, pair(3, 4))).toEqual([-0, -0]);
    recording.dispose();
    const large = recorded();
    large.rewrite([...of(2 ** 100), 5, 1, 1, END]);
    large.seal();
    expect(replayed(large, pair(3, 4))).toEqual([2 ** 100, 2 ** 100]);
    large.dispose();
  });

  it('gives operators lists, None, bools and defaults', () => {
    const recording = recorded();
    const joined = called('aten::cat', [2, VALUES, 2, 0, 0, NUMBER, 0], [1, ...[3, 6, 1, 4]]);
    const turned = called('aten::flip', [2, VALUE, 3, NUMBERS, 1, 0], [1, ...[4, 6, 1, 4]]);
    const rows = called('aten::reshape', [2, VALUE, 4, NUMBERS, 2, 2, 2], [1, ...[5, 6, 2, 2, 2]]);
    const sums = called('aten::sum.dim_IntList', [4, VALUE, 5, NUMBERS, 1, 0, NUMBER, 0, NONE]);
    recording.rewrite([...joined, ...turned, ...rows, ...sums, ...SUM, END]);
    recording.seal();
    expect(replayed(recording, pair(3, 4))).toEqual([2 * 4 + 3, 2 * 3 + 4]);
    recording.dispose();
  });

  // The values of the recording are (10, 20), its product with 3, x, and the sum.
  const withConstant = () => record((x) => add(multiply(pair(10, 20), 3), x)) as Recording;

  it('computes constants once', () => {
    const recording = withConstant();
    using constant = recording.constant(1, META);
    expect(valuesOf(constant)).toEqual([30, 60]);
    recording.rewrite([4, 1, ...[1, 1, 2, 1, 2], END]);
    recording.seal();
    expect(replayed(recording, pair(1, 2))).toEqual([31, 62]);
    expect(replayed(recording, pair(3, 4))).toEqual([33, 64]);
    recording.dispose();
  });

  it.each([2, 3, 4, -1])('value %i is no constant', (value) => {
    const recording = withConstant();
    const refused = expect.objectContaining({ code: 'ACC_INVALID_ARGUMENT' });
    expect(() => recording.constant(value, META)).toThrowError(refused);
    expect(() => recording.rewrite([4, value, 1, 1, 2, 1, 2, END])).toThrowError(refused);
    recording.dispose();
  });

  it('has no constants that are written in place or drawn', () => {
    const written = record((x) => {
      const total = pair(100, 200);
      addTo(total, x);
      return add(total, x);
    }) as Recording;
    const drawn = record((x) => add(operator('aten::rand')([2]), x)) as Recording;
    for (const recording of [written, drawn]) {
      expect(() => recording.constant(0, META)).toThrowError(
        expect.objectContaining({ code: 'ACC_INVALID_ARGUMENT' }),
      );
      recording.dispose();
    }
  });

  it('an operator that does not exist has no index', () => {
    expect(() => operatorIndex('aten::absent')).toThrowError(
      expect.objectContaining({ code: 'ACC_OPERATOR_UNKNOWN' }),
    );
  });

  const doubled = (args: readonly number[], results?: number[]) => [
    ...called('aten::mul.Tensor', args, results),
    ...SUM,
    END,
  ];

  it.each<[string, () => readonly number[]]>([
    [
      'with an operator that was not resolved',
      () => [3, 1e6, 2, VALUE, 0, VALUE, 0, 1, ...PRODUCT, ...SUM, END],
    ],
    ['with too many arguments', () => doubled([3, VALUE, 0, VALUE, 0, NUMBER, 1])],
    ['without an argument that has no default', () => doubled([1, VALUE, 0])],
    ['with a number instead of a tensor', () => doubled([2, VALUE, 0, NUMBER, 2])],
    ['with numbers instead of a tensor', () => doubled([2, VALUE, 0, NUMBERS, 1, 2])],
    ['with a list instead of a tensor', () => doubled([2, VALUE, 0, VALUES, 1, 0])],
    ['with None instead of an operand', () => doubled([2, VALUE, 0, NONE])],
    ['with an unknown kind of argument', () => doubled([2, VALUE, 0, 5, 0])],
    ['with an operand that nobody has made', () => doubled([2, VALUE, 0, VALUE, 3])],
    ['without results', () => doubled([2, VALUE, 0, VALUE, 0], [0])],
    ['with too many results', () => doubled([2, VALUE, 0, VALUE, 0], [2, ...PRODUCT, -1])],
    ['with a result of another shape', () => doubled([2, VALUE, 0, VALUE, 0], [1, 1, 6, 1, 3])],
    ['with a result of another dtype', () => doubled([2, VALUE, 0, VALUE, 0], [1, 1, 7, 1, 2])],
    ['with a result of an unknown dtype', () => doubled([2, VALUE, 0, VALUE, 0], [1, 3, 99, 1, 2])],
    ['with a result far away', () => doubled([2, VALUE, 0, VALUE, 0], [1, 1e9, 6, 1, 2])],
    [
      'with part of a dim',
      () => [...called('aten::sum.dim_IntList', [2, VALUE, 0, NUMBERS, 1, 0.5]), ...SUM, END],
    ],
    [
      'with 2 for a bool',
      () => [...called('aten::sum.dim_IntList', [3, VALUE, 0, NONE, NUMBER, 2]), ...SUM, END],
    ],
    ['with an operator that writes', () => [...called('aten::relu_', [1, VALUE, 0]), ...SUM, END]],
    ['with an operator that draws', () => [...called('aten::bernoulli', [1, VALUE, 0]), ...SUM, END]],
  ])('%s is refused, and nothing changes', (_, plan) => {
    expectRefused(plan());
  });

  it.each<[string, readonly number[]]>([
    ['that ends too early', KEPT],
    ['with an unknown kind of call', [9, END]],
    ['with another number of outputs', [...KEPT, 5, 0, END]],
    ['with an output that does not exist', [...KEPT, 5, 1, 3, END]],
    [
      'that changes the type of an output',
      [...called('aten::gt.Scalar', [2, VALUE, 0, NUMBER, 0], [1, ...[4, 11, 1, 2]]), 5, 1, 4, END],
    ],
    ['that changes the type of a recorded value', [...fused(TWICE.with(18, 11)), END]],
    ['with too many segments', [END, END]],
    ['with a call that was not recorded', [1, 2, 1, 0, END]],
    ['with another number of arguments', [1, 0, 2, 0, 0, END]],
    ['with None instead of a tensor', [1, 0, 1, -1, END]],
    ['with an unknown value', [1, 0, 1, 3, END]],
    ['with part of a value', [1, 0, 1, 0.5, END]],
    ['that gives a program None', [...fused(TWICE, [-1]), END]],
    ['that takes None from a program', [...fused(TWICE, [0], [-1]), END]],
    ['that gives a program too many values', [...fused(TWICE, [0, 0]), END]],
    ['with a negative number of elements', [...changed(0, -2), END]],
    ['with NaN for a number of elements', [...changed(0, NaN), END]],
    ['with an input of another size', [...changed(6, 3), END]],
    ['with an unknown operator', [...changed(9, 99), END]],
    ['with a step that writes an input', [...changed(11, 0), END]],
    ['with a register that does not exist', [...changed(12, 2), END]],
    ['with a result that is an input', [...changed(16, 0), END]],
    ['with rows that are longer than the elements', [...changed(1, 3), END]],
    ['with an input for each row, but no rows', [...changed(4, 1), END]],
    ['with a step for each row, but no rows', [...changed(10, 1), END]],
    ['with an unknown extent', [...changed(10, 3), END]],
    ['with a step that reads what no step has written', [...changed(12, 1), END]],
    ['with a reduction, but no rows', [...changed(9, 29), END]],
    ['with a result for each row of elements', [...fused(TWICE.with(1, 1).with(17, 1)), END]],
    ['with a result of integers', [...changed(18, 3), END]],
  ])('%s is refused, and nothing changes', (_, plan) => {
    expectRefused(plan);
  });

  function expectRefused(plan: readonly number[]): void {
    const recording = recorded();
    expect(() => recording.rewrite(plan)).toThrowError(
      expect.objectContaining({ code: 'ACC_INVALID_ARGUMENT' }),
    );
    recording.seal();
    expect(replayed(recording, pair(3, 4))).toEqual([9, 12]);
    recording.dispose();
  }
});
