import { describe, expect, it } from 'vitest';
import { operator, operatorWithResults } from './operator.js';
import { tensorFrom, type Tensor } from './tensor.js';

// The products of cpp/engine/recurrent.cpp with the recurrent weights, which recurrent/ (AVX-512) or packed_matrix.cpp packs once for all steps.

const lstm = operatorWithResults('acc::lstm');
const lstmBackward = operatorWithResults('acc::lstm_backward');
const gru = operatorWithResults('acc::gru');
const gruBackward = operatorWithResults('acc::gru_backward');
const convert = operator('aten::to.dtype');

type Dtype = 'float32' | 'bfloat16' | 'float64';

interface Sizes {
  readonly steps: number;
  readonly batch: number;
  readonly width: number;
}

/** The same numbers in every run, representable in every dtype, from about -limit to limit. */
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

/** The states, the gates' gradients and the gradients of the initial states. */
const RUNS = {
  lstm: ({ steps, batch, width }: Sizes, dtype: Dtype): number[][] => {
    using gates = wave([steps, batch, 4 * width], dtype, 1);
    using recurrent = wave([width, 4 * width], dtype, 1 / width);
    using h0 = wave([batch, width], dtype, 1);
    const [h, c] = lstm(gates, recurrent, h0, h0, 'tanh', 'sigmoid') as [Tensor, Tensor];
    const grads = lstmBackward(null, h0, h0, gates, c, recurrent, 'tanh', 'sigmoid', true) as Tensor[];
    return readAll([h, c, ...grads]);
  },
  gru: ({ steps, batch, width }: Sizes, dtype: Dtype): number[][] => {
    using gates = wave([steps, batch, 3 * width], dtype, 1);
    using recurrent = wave([width, 3 * width], dtype, 1 / width);
    using h0 = wave([batch, width], dtype, 1);
    const [h, resets] = gru(gates, recurrent, h0, 'tanh', 'sigmoid') as [Tensor, Tensor];
    const grads = gruBackward(null, h0, gates, h, recurrent, 'tanh', 'sigmoid', true) as Tensor[];
    return readAll([h, resets, ...grads]);
  },
};

describe.each(['lstm', 'gru'] as const)('acc::%s', (name) => {
  it.each([
    ['float32', 1e-5],
    ['bfloat16', 0.06],
  ] as const)('multiplies %s as float64', (dtype, tolerance) => {
    for (const sizes of [
      { steps: 1, batch: 3, width: 5 },
      { steps: 4, batch: 1, width: 16 },
      { steps: 6, batch: 17, width: 37 },
    ]) {
      const expected = RUNS[name](sizes, 'float64');
      RUNS[name](sizes, dtype).forEach((values, i) => {
        const scale = Math.max(...expected[i]!.map(Math.abs));
        const difference = Math.max(...values.map((value, k) => Math.abs(value - expected[i]![k]!)));
        expect(difference / scale).toBeLessThan(tolerance);
      });
    }
  });
});
