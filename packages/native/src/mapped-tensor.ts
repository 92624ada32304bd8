import type { NativeDtype } from '@acc/contract';
import { addon } from './addon.js';
import { scalarTypeOf } from './dtype.js';
import { converted, guarded } from './errors.js';
import { Tensor } from './tensor.js';

/**
 * Creates a CPU tensor whose elements are in a file, in row-major order from byte `start`. Nothing
 * is copied: pages are read from the file on first access. A written page becomes private memory,
 * so the file never changes. The file may be deleted or replaced meanwhile, but must not be
 * truncated or written. The caller disposes the tensor.
 *
 * @returns Undefined if the file cannot be mapped or is too short.
 */
export function mapTensor(
  path: string,
  start: number,
  dtype: NativeDtype,
  shape: readonly number[],
): Tensor | undefined {
  const id = guarded(() => addon().mapTensor(path, start, scalarTypeOf(dtype), shape));
  return id === undefined ? undefined : new Tensor(id, dtype, shape);
}

/**
 * The CRC-32 (zlib) of `length` bytes of a {@link mapTensor} from `start`. Another thread reads
 * them from the disk.
 *
 * @returns Undefined if the bytes cannot be read. Accessing them directly would then crash the
 * process.
 */
export function mappedChecksum(tensor: Tensor, start: number, length: number): Promise<number | undefined> {
  return converted(guarded(() => addon().mappedChecksum(tensor.id, start, length)));
}
