import { ENGINE_CHOICES, parseOptions, type Collective, type EngineChoice } from '@acc/contract';
import { SHORTEST_SILENCE_MS } from '@acc/collective';
import * as z from 'zod';

/** How ranks communicate, with any strategy. Times are in milliseconds. */
export interface CollectiveOptions {
  /**
   * The transport between ranks. `shm`: shared memory, for ranks of one host. `gloo`: sockets.
   * `hierarchical`: shared memory on each host and sockets between hosts. `mpi`: the cluster's MPI.
   * `nccl`: for tensors on GPUs. Default: the value of `ACC_COLLECTIVE_ENGINE`, else `auto`: shared
   * memory if the ranks share it, else sockets.
   */
  readonly engine?: EngineChoice;
  /**
   * For NCCL: the GPU's stream waits for a collective, and the program goes on, so that the GPU computes
   * without a pause. If a collective then fails, each later read of a value on the GPU, and each later
   * collective of values there, throws its error. No GPU has run it. Default false.
   */
  readonly streamWaits?: boolean;
  /** The longest time for a collective before it is an error. Default 300,000. */
  readonly timeoutMs?: number;
  /** The longest time for the ranks to connect before it is an error. Default `timeoutMs`. */
  readonly joinTimeoutMs?: number;
  /**
   * A wait that lasts longer is announced to the other ranks, and their calls are compared. Default
   * 1,000.
   */
  readonly noticeMs?: number;
  /** The time in which a call may still end after a connection was closed. Default 1,000. */
  readonly graceMs?: number;
  /** A host that has not answered for longer is lost. At least 2,000. Default 5,000. */
  readonly silenceMs?: number;
  /** How long a wait lasts before a deadlock is looked for, in milliseconds. Default 2,000. */
  readonly deadlockMs?: number;
}

const time = z.number().int().positive().optional();

const schema = z.object({
  engine: z.enum(ENGINE_CHOICES).optional(),
  streamWaits: z.boolean().optional(),
  timeoutMs: time,
  joinTimeoutMs: time,
  noticeMs: time,
  graceMs: time,
  silenceMs: z.number().int().min(SHORTEST_SILENCE_MS).optional(),
  deadlockMs: time,
});

/** Options of the group that earlier versions accepted in `ddp`. */
export const GROUP_OPTIONS: readonly string[] = ['engine', 'timeoutMs'];

/** Whether the option is a collective of the program. */
export function isCollective(value: unknown): value is Collective {
  return typeof (value as Partial<Collective> | undefined)?.subgroup === 'function';
}

/** @throws AccError `ACC_UNKNOWN_OPTION`, `ACC_INVALID_OPTION`. */
export function resolveCollective(
  options: CollectiveOptions | Collective = {},
): CollectiveOptions | Collective {
  return isCollective(options) ? options : parseOptions('collective', schema, options);
}
