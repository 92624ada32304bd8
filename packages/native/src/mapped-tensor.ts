import type { NativeDtype } from '@acc/contract';
import { addon } from './addon.js';
import { scalarTypeOf } from './dtype.js';
import { converted, guarded } from './errors.js';
import { Tensor } from './tensor.js';

/**
 * A tensor of the host whose elements are those in a file, row-major from byte `start` on. Nothing is copied: pages come from the
 * file when they are looked at, and one that is written into becomes memory of its own, so that the file never changes. It may be
 * deleted or replaced meanwhile, but not cut off or written into. Caller disposes.
 *
 * @returns Undefined where the file can't be mapped, or ends too early.
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
 * The CRC-32 (zlib's) of so many bytes of a {@link mapTensor} from `start` on, which another thread brings in from the disk.
 *
 * @returns Undefined where they can't be read: to look at one that can't ends the process.
 */
export function mappedChecksum(tensor: Tensor, start: number, length: number): Promise<number | undefined> {
  return converted(guarded(() => addon().mappedChecksum(tensor.id, start, length)));
}
