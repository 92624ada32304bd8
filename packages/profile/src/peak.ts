import type { KernelLayer, NativeDtype } from '@acc/contract';
import { productOfMatrices } from '@acc/kernels';
import { numThreads, operator, synchronize, tensorFrom } from '@acc/native';

const cast = operator('aten::_to_copy');

/** Rows and columns of the matrices, and the products before the device is waited for. */
const ON_HOST = { size: 1024, products: 1 };
/** Smaller products are over before the next one has been launched. */
const ON_DEVICE = { size: 8192, products: 4 };
const LEAST_MS = 150;
const LEAST_RUNS = 4;

/** The fastest that products were on this machine, just now. */
export interface Peak {
  readonly flopsPerSecond: number;
  readonly dtype: NativeDtype;
  /** Rows and columns of the two matrices. */
  readonly size: number;
  /** The number of threads of an operator. */
  readonly threads: number;
}

/**
 * Measures products of two matrices, for some 0.2 s, by the kernel that training would choose for them. If
 * all ranks of a host measure at the same time, they share its memory and caches as in training.
 */
export function measurePeak(dtype: NativeDtype, { device }: Pick<KernelLayer, 'device'>): Peak {
  const { size, products } = device === 'cpu' ? ON_HOST : ON_DEVICE;
  const values = Float32Array.from({ length: size * size }, (_, i) => Math.sin(i));
  using float = tensorFrom(values, 'float32', [size, size]);
  using x = cast(float, dtype);
  let fastest = Infinity;
  const begin = performance.now();
  for (let run = 0; run < LEAST_RUNS || performance.now() - begin < LEAST_MS; run++) {
    const start = performance.now();
    for (let i = 0; i < products; i++) productOfMatrices(x, x, null, false, false, 'linear').dispose();
    synchronize();
    // The first product chooses and prepares its kernel.
    if (run > 0) fastest = Math.min(fastest, performance.now() - start);
  }
  const flopsPerSecond = (products * 2 * size ** 3) / (fastest / 1000);
  return { flopsPerSecond, dtype, size, threads: numThreads() };
}
