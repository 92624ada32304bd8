import { describe, expect, it } from 'vitest';
import { liveTensors } from './memory.js';
import { operator } from './operator.js';
import { tensorFrom } from './tensor.js';

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
});
