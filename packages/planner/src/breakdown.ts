/** Where the time of a step goes, on the rank that computes longest. The sum is the step. */
export interface Breakdown {
  readonly products: number;
  readonly attention: number;
  readonly elementwise: number;
  /** Of the three above, and of their communication: what backward computes again. Not in the sum. */
  readonly recomputed: number;
  readonly tensorCommunication: number;
  readonly pipelineCommunication: number;
  /** The time in which the rank waits for others of its pipeline. */
  readonly pipelineBubble: number;
  /** Gradients, and weights of `fsdp`, that are not hidden under computation. */
  readonly dataCommunication: number;
  readonly optimizer: number;
  /** Values on their way between the device and its host's memory or disks, that are not hidden. */
  readonly offload: number;
}
