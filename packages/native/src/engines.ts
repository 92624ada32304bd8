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

/**
 * A unique id of the GPU of a device (`cuda`, `cuda:1`). It is the same in all processes that see
 * the GPU, whatever its device number is there.
 *
 * @throws AccError `ACC_ENGINE_UNAVAILABLE` if ranks cannot use NCCL.
 */
export function gpuId(device: string): string {
  const [, index] = /^cuda:(\d+)$/.exec(device) ?? [];
  return guarded(() => addon().gpuId(index === undefined ? -1 : Number(index)));
}
