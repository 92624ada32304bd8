import { describe, expect, it } from 'vitest';
import { operator, operatorInPlace, operatorWithResults } from './operator.js';
import { tensorFrom, type Tensor } from './tensor.js';
import { readAll, wave } from './test-support.js';

// The operators of cpp/engine/kernels/recurrent/operator.cpp: on float32 and bfloat16 cells are code on rows, on float64 libtorch's operators.

const lstm = operatorWithResults('acc::lstm');
const lstmBackward = operatorWithResults('acc::lstm_backward');
const gru = operatorWithResults('acc::gru');
const gruBackward = operatorWithResults('acc::gru_backward');
const clone = operator('aten::clone');
const permute = operator('aten::permute');

const [T, B, H] = [8, 3, 21];

type Dtype = 'float32' | 'float64' | 'bfloat16';

/** A view `[T, B, H]` of numbers that lie as `[B, T, H]`, as the gradient of a layer's result does. */
function sequence(dtype: Dtype): Tensor {
  using byBatch = wave([B, T, H], dtype);
  return permute(byBatch, [1, 0, 2]);
}

/** All results of the forward and the backward operator. */
function lstmResults(dtype: Dtype, activation: string, gateActivation: string): number[][] {
  using gates = wave([T, B, 4 * H], dtype);
  using recurrent = wave([H, 4 * H], dtype, 0.1);
  using h0 = wave([B, H], dtype);
  const [h, c] = lstm(gates, recurrent, h0, h0, activation, gateActivation) as [Tensor, Tensor];
  using dy = sequence(dtype);
  const grads = lstmBackward(dy, h0, h0, gates, c, recurrent, activation, gateActivation, true) as Tensor[];
  return readAll([clone(gates), h, c, ...grads]);
}

function gruResults(dtype: Dtype, activation: string, gateActivation: string): number[][] {
  using gates = wave([T, B, 3 * H], dtype);
  using recurrent = wave([H, 3 * H], dtype, 0.1);
  using h0 = wave([B, H], dtype);
  const [h, resets] = gru(gates, recurrent, h0, activation, gateActivation) as [Tensor, Tensor];
  using dy = sequence(dtype);
  const grads = gruBackward(dy, h0, gates, h, recurrent, activation, gateActivation, true) as Tensor[];
  return readAll([clone(gates), h, resets, ...grads]);
}

/** Largest difference in each of the results. */
const differences = (a: number[][], b: number[][]): number[] =>
  a.map((values, k) => Math.max(...values.map((value, i) => Math.abs(value - b[k]![i]!))));

const ACTIVATIONS = ['linear', 'relu', 'tanh', 'sigmoid', 'hardSigmoid'];
const PAIRS = ACTIVATIONS.flatMap((one) => ACTIVATIONS.map((other) => [one, other] as const)).filter(
  // States that grow without bound.
  ([, gate]) => gate !== 'linear' && gate !== 'relu',
);

// A bfloat16 has 8 bits: 0.002 for each rounding of the results and of the states of 8 steps.
const LIMITS = { float32: 2e-5, bfloat16: 0.03 } as const;

/** Rows in float32 give what operators give in float64, and those in bfloat16 nearly so. */
function expectCellsOfRows(
  resultsOf: (dtype: Dtype, activation: string, gateActivation: string) => number[][],
  activations: readonly [string, string],
  count: number,
): void {
  const operators = resultsOf('float64', ...activations);
  const scale = operators.map((values) => Math.max(1, ...values.map(Math.abs)));
  // A rounded result of hardSigmoid may reach an end, where the gradient is 0.
  const dtypes = activations.includes('hardSigmoid')
    ? (['float32'] as const)
    : (['float32', 'bfloat16'] as const);
  for (const dtype of dtypes) {
    const rows = resultsOf(dtype, ...activations);
    expect(rows).toHaveLength(count);
    differences(rows, operators).forEach((difference, i) => {
      expect(difference / scale[i]!, `result ${i} in ${dtype}`).toBeLessThan(LIMITS[dtype]);
    });
  }
}

describe('acc::lstm', () => {
  it.each(PAIRS)('gives the results of single operators: %s, gates %s', (...activations) => {
    expectCellsOfRows(lstmResults, activations, 7);
  });

  it('has no gradient of a bias that is not asked for', () => {
    using gates = wave([T, B, 4 * H], 'float32');
    using recurrent = wave([H, 4 * H], 'float32', 0.1);
    const results = lstm(gates, recurrent, null, null, 'tanh', 'sigmoid') as [Tensor, Tensor];
    const grads = lstmBackward(
      null,
      null,
      null,
      gates,
      results[1],
      recurrent,
      'tanh',
      'sigmoid',
      false,
    ) as Tensor[];
    expect(readAll([...results, ...grads]).at(-1)).toEqual([]);
  });

  it('is accurate for large values and propagates NaN', () => {
    const values = [-1e30, -100, -20, -1e-3, 0, 1e-7, 0.6, 20, 100, 1e30, NaN];
    const row = [...values.map(() => 0), ...values.map(() => 0), ...values, ...values.map(() => 0)];
    using gates = tensorFrom(Float32Array.from(row), 'float32', [1, 1, 4 * values.length]);
    using recurrent = wave([values.length, 4 * values.length], 'float32');
    for (const state of lstm(gates, recurrent, null, null, 'tanh', 'sigmoid') as Tensor[]) state.dispose();
    const after = gates.read() as Float32Array;
    values.forEach((value, i) => {
      expect(after[i]).toBe(0.5);
      const expected = Math.fround(Math.tanh(value));
      const candidate = after[2 * values.length + i]!;
      if (Number.isNaN(expected)) expect(candidate).toBeNaN();
      else expect(Math.abs(candidate - expected)).toBeLessThanOrEqual(2e-7 * Math.abs(expected));
    });
  });

  it('has the gradient of finite differences', () => {
    const loss = (shift: number): number => {
      using gates = wave([T, B, 4 * H], 'float64');
      using one = operator('aten::select.int')(gates, 0, 2);
      using place = operator('aten::narrow')(one, 1, 30, 1);
      operatorInPlace('aten::add_.Scalar')(place, shift);
      using recurrent = wave([H, 4 * H], 'float64', 0.2);
      const [h, c] = readAll(lstm(gates, recurrent, null, null, 'tanh', 'sigmoid') as Tensor[]) as [
        number[],
        number[],
      ];
      // All states after the first, and the last c.
      return sum(h.slice(B * H)) + sum(c.slice(T * B * H));
    };
    using gates = wave([T, B, 4 * H], 'float64');
    using recurrent = wave([H, 4 * H], 'float64', 0.2);
    const [h, c] = lstm(gates, recurrent, null, null, 'tanh', 'sigmoid') as [Tensor, Tensor];
    h.dispose();
    using heldC = c;
    using ones = operator('aten::ones')([T, B, H], 'float64');
    using onesOfC = operator('aten::ones')([B, H], 'float64');
    const [grads] = readAll(
      lstmBackward(ones, null, onesOfC, gates, heldC, recurrent, 'tanh', 'sigmoid', true) as Tensor[],
    ) as [number[]];
    const expected = (loss(1e-4) - loss(-1e-4)) / 2e-4;
    const actual = [0, 1, 2].reduce((total, row) => total + grads[(2 * B + row) * 4 * H + 30]!, 0);
    expect(actual).toBeCloseTo(expected, 6);
  });

  it('refuses an unknown activation', () => {
    expect(() => lstmResults('float32', 'swish', 'sigmoid')).toThrowError(
      expect.objectContaining({ code: 'ACC_OPERATOR_ARGUMENT' }),
    );
  });
});

describe('acc::gru', () => {
  it.each(PAIRS)('gives the results of single operators: %s, gates %s', (...activations) => {
    expectCellsOfRows(gruResults, activations, 6);
  });

  it('has the gradient of finite differences', () => {
    const run = (shift: number) => {
      const gates = wave([T, B, 3 * H], 'float64');
      using one = operator('aten::select.int')(gates, 0, 1);
      using place = operator('aten::narrow')(one, 1, 25, 20);
      operatorInPlace('aten::add_.Scalar')(place, shift);
      using recurrent = wave([H, 3 * H], 'float64', 0.2);
      const [h, resets] = gru(gates, recurrent, null, 'tanh', 'sigmoid') as [Tensor, Tensor];
      resets.dispose();
      using ones = operator('aten::ones')([T, B, H], 'float64');
      const grads = gruBackward(ones, null, gates, h, recurrent, 'tanh', 'sigmoid', true) as Tensor[];
      const [states, dGates] = readAll([h, ...grads]) as [number[], number[]];
      gates.dispose();
      return { loss: sum(states), dGates };
    };
    const expected = (run(1e-4).loss - run(-1e-4).loss) / 2e-4;
    const { dGates } = run(0);
    let actual = 0;
    for (let row = 0; row < B; row++) {
      for (let column = 25; column < 45; column++) actual += dGates[(B + row) * 3 * H + column]!;
    }
    expect(actual).toBeCloseTo(expected, 6);
  });
});

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}
