import type { KernelLayer, NativeDtype } from '@acc/contract';
import { productOfMatrices } from '@acc/kernels';
import { numThreads, operator, operatorInPlace, synchronize, tensorFrom } from '@acc/native';

const cast = operator('aten::_to_copy');
const clone = operator('aten::clone');
const copyInto = operatorInPlace('aten::copy_');

/** Rows and columns of the matrices, and the products before the device is waited for. */
const ON_HOST = { size: 1024, products: 1 };
/** Smaller products are over before the next one has been launched. */
const ON_DEVICE = { size: 8192, products: 4 };
/** Larger than caches. */
const COPIED_BYTES = 2 ** 26;
const LEAST_MS = 150;
const LEAST_RUNS = 4;

/** The fastest that products and copies were on this machine. */
export interface Peak {
  readonly flopsPerSecond: number;
  readonly dtype: NativeDtype;
  /** Rows and columns of the two matrices. */
  readonly size: number;
  /** The number of threads of an operator. */
  readonly threads: number;
  /** The bytes that copies of large tensors read and write in a second. */
  readonly bytesPerSecond: number;
  /** In milliseconds since 1970. */
  readonly measuredAt: number;
}

/**
 * Measures copies, and products of two matrices, for some 0.4 s together. Products run by the kernel that training would choose for them. If
 * all ranks of a host measure at the same time, they share its memory and caches as in training.
 */
export function measurePeak(dtype: NativeDtype, { device }: Pick<KernelLayer, 'device'>): Peak {
  const { size, products } = device === 'cpu' ? ON_HOST : ON_DEVICE;
  const values = Float32Array.from({ length: size * size }, (_, i) => Math.sin(i));
  using float = tensorFrom(values, 'float32', [size, size]);
  using x = cast(float, dtype);
  const multiply = () => productOfMatrices(x, x, null, false, false, 'linear').dispose();
  const productSeconds = fastestOf(multiply, products) / 1000;
  return {
    ...{ flopsPerSecond: (2 * size ** 3) / productSeconds, dtype, size, threads: numThreads() },
    ...{ bytesPerSecond: measureCopies(), measuredAt: Date.now() },
  };
}

function measureCopies(): number {
  using from = tensorFrom(new Float32Array(COPIED_BYTES / 4).fill(1), 'float32', [COPIED_BYTES / 4]);
  using to = clone(from);
  const seconds = fastestOf(() => copyInto(to, from), 1) / 1000;
  return (2 * COPIED_BYTES) / seconds;
}

/** The shortest time of one of `count` calls that are made together, in milliseconds. */
function fastestOf(call: () => void, count: number): number {
  let fastest = Infinity;
  const begin = performance.now();
  for (let run = 0; run < LEAST_RUNS || performance.now() - begin < LEAST_MS; run++) {
    const start = performance.now();
    for (let i = 0; i < count; i++) call();
    synchronize();
    // The first call chooses and prepares its kernel.
    if (run > 0) fastest = Math.min(fastest, performance.now() - start);
  }
  return fastest / count;
}
