import type { EngineChoice, RankPlace } from '@acc/contract';

/** How long a collective, or the coming together of the ranks, may take before it is an error. */
export const DEFAULT_TIMEOUT_MS = 300_000;

/** How a process joins its job. */
export interface JoinOptions extends RankPlace {
  /** The same on every rank. Default `auto`. */
  readonly engine?: EngineChoice;
  /** Where tensors live; shared memory is for the CPU's, NCCL for those of GPUs. Default `cpu`. */
  readonly device?: string;
  /** The network interface to use between hosts, or several to choose from; by default the one that reaches the master. */
  readonly networkInterface?: string;
  readonly timeoutMs?: number;
  /** Called once, with a sentence, when ranks have been missing for ten seconds. */
  readonly onWaiting?: (who: string) => void;
}
