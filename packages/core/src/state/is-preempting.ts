import type { CheckpointOptions } from '@acc/checkpoint';

/** Whether signals make all ranks save the run together and exit. */
export function isPreempting(options: CheckpointOptions | undefined): boolean {
  return options?.preemption ?? options !== undefined;
}
