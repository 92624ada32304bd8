import type { EngineChoice } from '@acc/contract';

/** How long a collective, or the coming together of the ranks, may take before it is an error. */
export const DEFAULT_TIMEOUT_MS = 300_000;

/** What a process needs to find the others of its job. */
export interface JoinOptions {
  readonly rank: number;
  readonly size: number;
  /** Host of rank 0, where the job's store lives. */
  readonly masterAddress: string;
  readonly masterPort: number;
  /** Set by the launcher; processes of different jobs never form a group. */
  readonly jobToken: string;
  /** True when all ranks run on one host: traffic then stays on the loopback interface, if `masterAddress` is one of its own. */
  readonly isOneHost: boolean;
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
