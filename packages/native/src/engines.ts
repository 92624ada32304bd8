import { addon } from './addon.js';
import { guarded } from './errors.js';

/** Why ranks on this system cannot share memory; undefined where they can. */
export function shmUnavailableReason(): string | undefined {
  return addon().shmUnavailableReason() || undefined;
}

/** Why ranks cannot talk by NCCL here; undefined where they can. */
export function ncclUnavailableReason(): string | undefined {
  return addon().ncclUnavailableReason() || undefined;
}

/**
 * Names the GPU of a device (`cuda`, `cuda:1`), alike in all processes that see it, whatever number it has there.
 *
 * @throws AccError `ACC_ENGINE_UNAVAILABLE` where ranks cannot talk by NCCL.
 */
export function gpuId(device: string): string {
  const [, index] = /^cuda:(\d+)$/.exec(device) ?? [];
  return guarded(() => addon().gpuId(index === undefined ? -1 : Number(index)));
}
