import type { Collective, KernelLayer } from '@acc/contract';

/** The ranks that have the shards of a sequence. */
export interface SequenceShards {
  /** The rank in it is the number of the shard. */
  readonly ranks: Collective;
  readonly kernels: KernelLayer;
}
