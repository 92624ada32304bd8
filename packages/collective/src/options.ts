import type { EngineChoice, RankPlace } from '@acc/contract';
import { DEFAULT_PATIENCE, type Patience } from '@acc/native';

/** The time limit for each collective, in milliseconds. */
export const DEFAULT_TIMEOUT_MS = 300_000;

/** How a process joins its job. */
export interface JoinOptions extends RankPlace, Partial<Patience> {
  /** The same on every rank. Default `auto`. */
  readonly engine?: EngineChoice;
  /** The device of the tensors. Shared memory needs `cpu`; NCCL needs a GPU. Default `cpu`. */
  readonly device?: string;
  /**
   * The network interface for traffic between hosts, or several separated by commas. Default: the
   * one that reaches the master.
   */
  readonly networkInterface?: string;
  /**
   * Whether the GPU's stream waits for collectives of NCCL, and the host goes on. Refused with another
   * engine. Default false.
   */
  readonly streamWaits?: boolean;
  readonly timeoutMs?: number;
  /** The time limit for the rendezvous of the ranks, in milliseconds. Default `timeoutMs`. */
  readonly joinTimeoutMs?: number;
  /** Called once with a message if ranks are still missing after ten seconds. */
  readonly onWaiting?: (who: string) => void;
}

/** The patience in the options, with defaults filled in. */
export function patienceOf({ noticeMs, graceMs, silenceMs, deadlockMs }: Wished<Patience>): Patience {
  return {
    noticeMs: noticeMs ?? DEFAULT_PATIENCE.noticeMs,
    graceMs: graceMs ?? DEFAULT_PATIENCE.graceMs,
    silenceMs: silenceMs ?? DEFAULT_PATIENCE.silenceMs,
    deadlockMs: deadlockMs ?? DEFAULT_PATIENCE.deadlockMs,
  };
}

type Wished<T> = { readonly [Name in keyof T]?: T[Name] | undefined };
