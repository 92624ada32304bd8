import type { Collective, KernelLayer } from '@acc/contract';

/** The ranks that have the pieces of a sequence. */
export interface Pieces {
  /** The rank in it is the number of the piece. */
  readonly ranks: Collective;
  readonly kernels: KernelLayer;
}
