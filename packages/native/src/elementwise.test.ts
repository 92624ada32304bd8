import { describe, expect, it } from 'vitest';
import { liveTensors } from './memory.js';
import { operator } from './operator.js';
import { tensorFrom, type Tensor } from './tensor.js';

const toDtype = operator('aten::to.dtype');
const select = operator('aten::select.int');
const elementwise = operator('acc::elementwise');
const pair = (...values: number[]) => tensorFrom(Float32Array.from(values), 'float32', [2]);

const ADD = 0;
const NO_ROWS = 0;
/** The extent of a whole tensor. */
const ELEMENTS = 0;
const INPUTS = [1, ELEMENTS, 1, 2];
const NO_CONSTANTS = [0];
const SUM = [1, ADD, ELEMENTS, 1, 0, 0, 0];
const RESULT = [1, ELEMENTS, 6, 1, 2];
/** x + x: an input and a result, of two elements each, in two registers. */
const TWICE = [2, NO_ROWS, 2, ...INPUTS, ...NO_CONSTANTS, ...SUM, 1, ...RESULT];

describe('the operator of elementwise programs', () => {
  it('runs a program, and leaves its inputs as they are', () => {
    using x = pair(3, 4);
    const before = liveTensors();
    using y = elementwise([x], TWICE);
    expect([...y.read()]).toEqual([6, 8]);
    expect([...x.read()]).toEqual([3, 4]);
    expect(liveTensors()).toBe(before + 1);
  });

  it.each<[string, readonly number[]]>([
    ['that ends too early', TWICE.slice(0, -1)],
    ['that goes on after its end', [...TWICE, 0]],
    ['without a result', [2, NO_ROWS, 2, ...INPUTS, ...NO_CONSTANTS, ...SUM, 0]],
    ['with an unknown operator', TWICE.with(9, 1000)],
    ['with other inputs', [2, NO_ROWS, 2, 0, ...NO_CONSTANTS, ...SUM, 1, ...RESULT]],
  ])('refuses a program %s', (_, program) => {
    using x = pair(3, 4);
    expect(() => elementwise([x], program)).toThrowError(
      expect.objectContaining({ code: expect.stringMatching(/^ACC_/) as string }),
    );
  });

  const LENGTH = 1100;
  /** x + x + number, of {@link LENGTH} elements, in the memory layout that its input has. */
  const program = (number: number): number[] => [
    ...[LENGTH, NO_ROWS, 4],
    ...[1, ELEMENTS, 1, LENGTH],
    ...[1, 1, number],
    ...[2, ADD, ELEMENTS, 2, 0, 0, 0, ADD, ELEMENTS, 3, 2, 1, 2],
    ...[1, 3, ELEMENTS, 6, 1, LENGTH],
  ];
  const [values, other] = [0.25, 0.5].map((by) => Float32Array.from({ length: LENGTH }, (_, i) => i * by));
  const run = (x: Tensor, number: number): number[] => {
    using y = elementwise([x], program(number));
    return [...(y.read() as Float32Array)];
  };

  it('has the same bits in each run, whatever its inputs are like', () => {
    using x = tensorFrom(values!, 'float32', [LENGTH]);
    using wide = tensorFrom(new Float32Array(2 * LENGTH).fill(7), 'float32', [LENGTH, 2]);
    using one = tensorFrom(Float32Array.of(3), 'float32', [1]);
    using ints = tensorFrom(Int32Array.from(values!), 'int32', [LENGTH]);
    using short = toDtype(x, 'bfloat16');
    using strided = select(wide, 1, 0);
    using truths = toDtype(ints, 'bool');
    using doubled = toDtype(x, 'int64');
    const inputs = [x, strided, one, ints, short, truths, doubled];
    const first = inputs.map((input) => run(input, 0.5));
    expect(first[0]).toEqual([...values!].map((value) => value + value + 0.5));
    for (let i = 0; i < 6; i++) expect(inputs.map((input) => run(input, 0.5))).toEqual(first);
  });

  it('is one of more programs than are remembered', () => {
    using x = tensorFrom(other!, 'float32', [LENGTH]);
    for (let round = 0; round < 5; round++) {
      for (let number = 0; number < 300; number++) {
        expect(run(x, number)[LENGTH - 1]).toBe(LENGTH - 1 + number);
        using passing = elementwise([x], program(1000 + round * 300 + number));
        expect(passing.shape).toEqual([LENGTH]);
      }
    }
  });
});
