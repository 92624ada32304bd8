import type { NativeDtype } from '@acc/contract';
import { numThreads, operator, synchronize, tensorFrom } from '@acc/native';

const product = operator('aten::mm');
const cast = operator('aten::_to_copy');

/** Rows and columns of the matrices. Larger ones are hardly faster. */
const SIZE = 1024;
const LEAST_MS = 150;
const LEAST_RUNS = 4;

/** The fastest that products were on this machine, just now. */
export interface Peak {
  readonly flopsPerSecond: number;
  readonly dtype: NativeDtype;
  /** The number of threads of an operator. */
  readonly threads: number;
}

/**
 * Measures products of matrices of 1024 × 1024, for some 0.2 s. If all ranks of a host measure at the same
 * time, as they do in a profile, they share its memory and caches as in training.
 */
export function measurePeak(dtype: NativeDtype): Peak {
  const values = Float32Array.from({ length: SIZE * SIZE }, (_, i) => Math.sin(i));
  using float = tensorFrom(values, 'float32', [SIZE, SIZE]);
  using x = cast(float, dtype);
  let fastest = Infinity;
  const begin = performance.now();
  for (let run = 0; run < LEAST_RUNS || performance.now() - begin < LEAST_MS; run++) {
    const start = performance.now();
    using _result = product(x, x);
    synchronize();
    // The first call prepares the operator.
    if (run > 0) fastest = Math.min(fastest, performance.now() - start);
  }
  return { flopsPerSecond: (2 * SIZE ** 3) / (fastest / 1000), dtype, threads: numThreads() };
}
