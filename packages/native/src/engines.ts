import { addon } from './addon.js';
import { guarded } from './errors.js';

/** The reason why ranks on this system cannot share memory. Undefined if they can. */
export function shmUnavailableReason(): string | undefined {
  return addon().shmUnavailableReason() || undefined;
}

/** The reason why ranks on this system cannot use NCCL. Undefined if they can. */
export function ncclUnavailableReason(): string | undefined {
  return addon().ncclUnavailableReason() || undefined;
}

/** A GPU of NVIDIA. */
export interface GpuFacts {
  readonly name: string;
  /** The same in all processes that see the GPU. A slice of a GPU (MIG) has its own. */
  readonly uuid: string;
  /** Its compute capability: `9.0`. */
  readonly capability: string;
}

/**
 * The GPU of a device (`cuda`, `cuda:1`), as its driver describes it. Undefined for other devices, and
 * without the driver.
 *
 * @param driver The path of the driver's library.
 */
export function gpuFacts(device: string, driver = 'libcuda.so.1'): GpuFacts | undefined {
  const found = /^cuda(?::(\d+))?$/.exec(device);
  return found ? guarded(() => addon().gpuFacts(Number(found[1] ?? 0), driver)) : undefined;
}
