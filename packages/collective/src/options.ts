import type { EngineChoice, RankPlace } from '@acc/contract';

/** The time limit for each collective and for the rendezvous of the ranks, in milliseconds. */
export const DEFAULT_TIMEOUT_MS = 300_000;

/** How a process joins its job. */
export interface JoinOptions extends RankPlace {
  /** The same on every rank. Default `auto`. */
  readonly engine?: EngineChoice;
  /** The device of the tensors. Shared memory needs `cpu`; NCCL needs a GPU. Default `cpu`. */
  readonly device?: string;
  /**
   * The network interface for traffic between hosts, or several separated by commas. Default: the
   * one that reaches the master.
   */
  readonly networkInterface?: string;
  readonly timeoutMs?: number;
  /** Called once with a message if ranks are still missing after ten seconds. */
  readonly onWaiting?: (who: string) => void;
}
