import type { EngineWish } from './engine-choice.js';

/** The description of a rank that it gives to the others. */
export interface Member {
  readonly rank: number;
  readonly host: string;
  readonly pid: number;
  /** The address by which peers reach it. It is the same for ranks of one host. */
  readonly address: string;
  /** The number of ranks in the job, as this rank was told. */
  readonly size: number;
  readonly wish: EngineWish;
  /** The CPU cores that the rank may run on, in the format of `/proc/self/status`. */
  readonly cpus?: string;
  /** Distinguishes processes that claim the same rank. */
  readonly id: string;
}
