import { describe, expect, it } from 'vitest';
import { cpuHas } from '@acc/testkit';
import { numThreads, setNumThreads } from './memory.js';
import { operator, operatorWithResults } from './operator.js';
import type { Tensor } from './tensor.js';
import { readAll, wave } from './test-support.js';

// The operators of cpp/engine/kernels/recurrent/operator.cpp, which pack the recurrent weights once for all steps. On CPUs with
// AVX-512, recurrent/ divides the rows of the batch among threads, or the columns of the states.

const lstm = operatorWithResults('acc::lstm');
const lstmBackward = operatorWithResults('acc::lstm_backward');
const gru = operatorWithResults('acc::gru');
const gruBackward = operatorWithResults('acc::gru_backward');
const zeros = operator('aten::zeros');

type Dtype = 'float32' | 'bfloat16' | 'float64';

interface Sizes {
  readonly steps: number;
  readonly batch: number;
  readonly width: number;
}

interface Inputs {
  /** Null: zeros. */
  readonly h0: Tensor | null;
  /** The gradient of all states. Null: only the last state has one. */
  readonly dy: Tensor | null;
  /** Of the recurrent weight. */
  readonly limit: number;
}

/** The states, the gates' gradients, and those of the initial states and of the bias. */
const RUNS = {
  lstm: ({ steps, batch, width }: Sizes, dtype: Dtype, { h0, dy, limit }: Inputs): number[][] => {
    using gates = wave([steps, batch, 4 * width], dtype, 1);
    using weight = wave([width, 4 * width], dtype, limit);
    const [h, c] = lstm(gates, weight, h0, h0, 'tanh', 'sigmoid') as [Tensor, Tensor];
    const grads = lstmBackward(dy, h0, h0, gates, c, weight, 'tanh', 'sigmoid', true) as Tensor[];
    return readAll([h, c, ...grads]);
  },
  gru: ({ steps, batch, width }: Sizes, dtype: Dtype, { h0, dy, limit }: Inputs): number[][] => {
    using gates = wave([steps, batch, 3 * width], dtype, 1);
    using weight = wave([width, 3 * width], dtype, limit);
    const [h, resets] = gru(gates, weight, h0, 'tanh', 'sigmoid') as [Tensor, Tensor];
    const grads = gruBackward(dy, h0, gates, h, weight, 'tanh', 'sigmoid', true) as Tensor[];
    return readAll([h, resets, ...grads]);
  },
};

const dividesItself = cpuHas('avx512f', 'avx512bw', 'avx512dq', 'avx512vl');

/**
 * The same bits. Without AVX-512, libtorch divides products among threads, and its sums depend on
 * their number.
 */
function expectSame(found: number[][], one: number[][], dtype: Dtype): void {
  if (dividesItself) expect(found).toEqual(one);
  else expectNear(found, one, dtype === 'bfloat16' ? 0.03 : 1e-5);
}

function withThreads<Result>(count: number, run: () => Result): Result {
  const before = numThreads();
  setNumThreads(count);
  try {
    return run();
  } finally {
    setNumThreads(before);
  }
}

/** Requires that each result differs from the expected one by less than `tolerance` times its largest number. */
function expectNear(found: readonly number[][], expected: readonly number[][], tolerance: number): void {
  expect(found).toHaveLength(expected.length);
  found.forEach((values, i) => {
    const most = (numbers: readonly number[]) => numbers.reduce((a, b) => Math.max(a, Math.abs(b)), 0);
    const difference = most(values.map((value, k) => value - expected[i]![k]!));
    expect(difference / most(expected[i]!), `result ${i}`).toBeLessThan(tolerance);
  });
}

// Several parts of the rows with a shorter last one, several blocks of k in every product, and a last
// panel with part of a vector.
const LARGE: Sizes = { steps: 3, batch: 33, width: 290 };

/** Products that numbers of threads divide in different ways, by product/shares.h. */
const DIVIDED: readonly (readonly [string, Sizes, readonly number[]])[] = [
  ['rows on 2 threads, columns on 3, both on 4', { steps: 3, batch: 16, width: 420 }, [2, 3, 4]],
  ['rows of steps that are too small for threads', { steps: 60, batch: 37, width: 40 }, [2, 3]],
  ['columns of a few rows', { steps: 3, batch: 7, width: 630 }, [2, 3]],
];

describe.each(['lstm', 'gru'] as const)('acc::%s', (name) => {
  it.each([
    ['float32', 1e-5],
    ['bfloat16', 0.06],
  ] as const)('multiplies %s as float64', (dtype, tolerance) => {
    for (const sizes of [
      { steps: 1, batch: 3, width: 5 },
      { steps: 4, batch: 1, width: 16 },
      { steps: 6, batch: 17, width: 37 },
      // Multiples of 32 are multiplied on matrix units, where the CPU has them, by up to 32 rows.
      ...[1, 15, 16, 17, 32, 33].map((batch) => ({ steps: 3, batch, width: 32 })),
      { steps: 3, batch: 37, width: 96 },
      { steps: 3, batch: 70, width: 64 },
    ]) {
      const run = (of: Dtype): number[][] => {
        using h0 = wave([sizes.batch, sizes.width], of, 1);
        return RUNS[name](sizes, of, { h0, dy: null, limit: 1 / sizes.width });
      };
      expectNear(run(dtype), run('float64'), tolerance);
    }
  });

  const runLarge = (dtype: Dtype, h0: Tensor | null): number[][] => {
    using dy = wave([LARGE.steps, LARGE.batch, LARGE.width], dtype, 1);
    return RUNS[name](LARGE, dtype, { h0, dy, limit: 0.1 });
  };

  it.each([
    ['float32', 1e-5],
    ['bfloat16', 0.03],
  ] as const)('has the same bits in %s on 1, 2 and 3 threads, near float64', (dtype, tolerance) => {
    const run = (of: Dtype): number[][] => {
      using h0 = wave([LARGE.batch, LARGE.width], of, 1);
      return runLarge(of, h0);
    };
    const one = withThreads(1, () => run(dtype));
    for (const threads of [2, 3])
      expectSame(
        withThreads(threads, () => run(dtype)),
        one,
        dtype,
      );
    expectNear(one, run('float64'), tolerance);
  });

  it.each(DIVIDED)('has the same bits with %s', (_, sizes, threads) => {
    for (const dtype of ['float32', 'bfloat16'] as const) {
      using dy = wave([sizes.steps, sizes.batch, sizes.width], dtype, 1);
      const run = (): number[][] => RUNS[name](sizes, dtype, { h0: null, dy, limit: 0.1 });
      const one = withThreads(1, run);
      for (const count of threads) expectSame(withThreads(count, run), one, dtype);
    }
  });

  it.each(['float32', 'bfloat16'] as const)('starts at zero in %s without initial states', (dtype) => {
    using zero = zeros([LARGE.batch, LARGE.width], dtype);
    // -0 + 0 is 0: the sign of a zero may differ.
    const unsigned = (results: number[][]): number[][] =>
      results.map((values) => values.map((value) => value + 0));
    expect(unsigned(runLarge(dtype, null))).toEqual(unsigned(runLarge(dtype, zero)));
  });
});
