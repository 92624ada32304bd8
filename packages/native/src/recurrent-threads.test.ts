import { describe, expect, it } from 'vitest';
import { numThreads, setNumThreads } from './memory.js';
import { operator, operatorWithResults } from './operator.js';
import { tensorFrom, type Tensor } from './tensor.js';

// On CPUs with AVX-512, cpp/engine/recurrent/ divides the panels of a product and the rows of a cell among threads.

const lstm = operatorWithResults('acc::lstm');
const lstmBackward = operatorWithResults('acc::lstm_backward');
const gru = operatorWithResults('acc::gru');
const gruBackward = operatorWithResults('acc::gru_backward');
const zeros = operator('aten::zeros');
const convert = operator('aten::to.dtype');

type Dtype = 'float32' | 'bfloat16' | 'float64';

// Several parts of the rows with a shorter last one, several blocks of k in every product, and a last panel with part of a vector.
const [T, B, H] = [3, 33, 290];

function wave(shape: readonly number[], dtype: Dtype, limit: number): Tensor {
  const size = shape.reduce((count, length) => count * length, 1);
  const values = Float32Array.from({ length: size }, (_, i) => limit * Math.sin(1.7 * i + shape.length));
  using floats = tensorFrom(values, 'float32', shape);
  using rounded = convert(floats, 'bfloat16');
  return convert(rounded, dtype);
}

function readAll(tensors: readonly Tensor[]): number[][] {
  return tensors.map((tensor) => {
    using held = tensor;
    return [...(held.read('float64') as Float64Array)];
  });
}

/** The states, the gates' gradients, and those of the initial states and of the bias. `h0` null: zeros. */
const RUNS = {
  lstm: (dtype: Dtype, h0: Tensor | null): number[][] => {
    using gates = wave([T, B, 4 * H], dtype, 1);
    using weight = wave([H, 4 * H], dtype, 0.1);
    using dy = wave([T, B, H], dtype, 1);
    const [h, c] = lstm(gates, weight, h0, h0, 'tanh', 'sigmoid') as [Tensor, Tensor];
    return readAll([
      h,
      c,
      ...(lstmBackward(dy, h0, h0, gates, c, weight, 'tanh', 'sigmoid', true) as Tensor[]),
    ]);
  },
  gru: (dtype: Dtype, h0: Tensor | null): number[][] => {
    using gates = wave([T, B, 3 * H], dtype, 1);
    using weight = wave([H, 3 * H], dtype, 0.1);
    using dy = wave([T, B, H], dtype, 1);
    const [h, resets] = gru(gates, weight, h0, 'tanh', 'sigmoid') as [Tensor, Tensor];
    return readAll([
      h,
      resets,
      ...(gruBackward(dy, h0, gates, h, weight, 'tanh', 'sigmoid', true) as Tensor[]),
    ]);
  },
};

function withThreads<Result>(count: number, run: () => Result): Result {
  const before = numThreads();
  setNumThreads(count);
  try {
    return run();
  } finally {
    setNumThreads(before);
  }
}

describe.each(['lstm', 'gru'] as const)('acc::%s', (name) => {
  it.each([
    ['float32', 1e-5],
    ['bfloat16', 0.03],
  ] as const)('has the same bits in %s on 1, 2 and 3 threads, near float64', (dtype, tolerance) => {
    const start = (of: Dtype): Tensor => wave([B, H], of, 1);
    using h0 = start(dtype);
    using exact0 = start('float64');
    const one = withThreads(1, () => RUNS[name](dtype, h0));
    for (const threads of [2, 3]) {
      expect(withThreads(threads, () => RUNS[name](dtype, h0))).toEqual(one);
    }
    const exact = RUNS[name]('float64', exact0);
    expect(one).toHaveLength(exact.length);
    one.forEach((values, i) => {
      const scale = exact[i]!.reduce((most, value) => Math.max(most, Math.abs(value)), 0);
      const difference = values.reduce(
        (most, value, k) => Math.max(most, Math.abs(value - exact[i]![k]!)),
        0,
      );
      expect(difference / scale, `result ${i}`).toBeLessThan(tolerance);
    });
  });

  it.each(['float32', 'bfloat16'] as const)('starts at zero in %s without initial states', (dtype) => {
    using zero = zeros([B, H], dtype);
    // -0 + 0 is 0: the sign of a zero may differ.
    const unsigned = (results: number[][]): number[][] =>
      results.map((values) => values.map((value) => value + 0));
    expect(unsigned(RUNS[name](dtype, null))).toEqual(unsigned(RUNS[name](dtype, zero)));
  });
});
