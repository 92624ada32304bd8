import { expect, it } from 'vitest';
import { numThreads, setNumThreads } from './memory.js';
import { operatorInPlace } from './operator.js';
import { tensorFrom, type Tensor } from './tensor.js';
import { readAll, wave } from './test-support.js';

// The operators of cpp/engine/kernels/adam.cpp beside libtorch's.

const LIBTORCHS = { adam: 'aten::_fused_adam_', adamw: 'aten::_fused_adamw_' } as const;
/** From this many elements on, a tensor is updated by several threads. */
const LARGE = 2 ** 17;

type Run = (lists: Tensor[][], count: Tensor[]) => void;

/** Two steps, of which each result is read. */
function resultsOf(sizes: readonly number[], run: Run): number[][] {
  const lists = [1.5, 0.1, 0.2, 0.3].map((limit, k) =>
    sizes.map((size) => {
      using x = wave([size], 'float32', limit);
      return tensorFrom(
        (x.read() as Float32Array).map((value) => (k === 3 ? Math.abs(value) : value)),
        'float32',
        [size],
      );
    }),
  );
  for (const step of [1, 2]) {
    using count = tensorFrom(Float32Array.of(step), 'float32', []);
    run(
      lists,
      sizes.map(() => count),
    );
  }
  return readAll(lists.flat());
}

it.each([
  ['adam', [3]],
  ['adam', [LARGE - 1, 5]],
  ['adam', [LARGE, 7, 300]],
  ['adamw', [LARGE + 3, 1, 1000, LARGE - 1, LARGE - 5, 40]],
] as const)('acc::%s_ of %j elements has the bits of libtorch, on 1, 2 and 3 threads', (name, sizes) => {
  const [own, libtorchs] = [operatorInPlace(`acc::${name}_`), operatorInPlace(LIBTORCHS[name])];
  const decay = name === 'adamw' ? 0.1 : 0;
  const before = numThreads();
  try {
    const expected = resultsOf(sizes, ([w, g, m, v], count) =>
      libtorchs(w!, g!, m!, v!, [], count, 0.01, 0.9, 0.99, decay, 1e-8, false, false),
    );
    for (const threads of [1, 2, 3]) {
      setNumThreads(threads);
      const found = resultsOf(sizes, ([w, g, m, v], count) =>
        own(w!, g!, m!, v!, count, 0.01, 0.9, 0.99, decay, 1e-8),
      );
      expect(found.every((values, i) => values.every((value, k) => value === expected[i]![k]!))).toBe(true);
      expect(numThreads()).toBe(threads);
    }
  } finally {
    setNumThreads(before);
  }
});

it('acc::adam_ refuses lists of different lengths', () => {
  using x = tensorFrom(Float32Array.of(1), 'float32', [1]);
  expect(() => operatorInPlace('acc::adam_')([x], [x], [x], [], [x], 0.1, 0.9, 0.99, 0, 1e-8)).toThrow(
    'lists of one length',
  );
});
