import { parseOptions, type Storage } from '@acc/contract';
import * as z from 'zod';
import type { RetentionOptions } from './retention.js';

export interface CheckpointOptions extends RetentionOptions {
  /**
   * The folder in which `saveState()` creates checkpoints that it names itself, and in which
   * `loadState('latest')` looks. Default `checkpoints` in `projectDir`.
   */
  readonly dir?: string;
  /** Replaces the file system. `dir` must then be absent. */
  readonly storage?: Storage;
  /**
   * Whether training continues while a save writes. Such a save copies only the tensors that change
   * in the meantime. Default false.
   */
  readonly async?: boolean;
  /**
   * The behaviour of all ranks if a save fails: an error is thrown, or a warning is printed and
   * training continues. Default `throw`.
   */
  readonly onError?: 'throw' | 'warn';
  /**
   * Whether SIGTERM, SIGUSR1 and Ctrl-C make all ranks save after the current step. They then exit with a
   * code after which `acc launch --max-restarts` restarts the job. Default: true if `checkpoint` is
   * given.
   */
  readonly preemption?: boolean;
  /**
   * Whether, in a job that `acc launch` restarts, ranks that survive the loss of another rank keep
   * their state in the memory of their host. `loadState('latest')` of the next start finds it there.
   * Default true.
   */
  readonly rescue?: boolean;
}

const positive = z.number().int().positive();

const schema = z
  .object({
    dir: z.string().min(1).optional(),
    storage: z.custom<Storage>(isStorage, 'a storage with put, get, list and delete').optional(),
    async: z.boolean().default(false),
    onError: z.enum(['throw', 'warn']).default('throw'),
    preemption: z.boolean().optional(),
    rescue: z.boolean().default(true),
    keepLast: positive.optional(),
    keepBest: z
      .strictObject({
        metric: z.string().min(1),
        mode: z.enum(['min', 'max']),
        count: positive.default(1),
      })
      .optional(),
    keepEvery: positive.optional(),
  })
  .refine(({ dir, storage }) => dir === undefined || storage === undefined, {
    path: ['dir'],
    error: 'no dir together with storage, because a storage has its own location',
  })
  .refine(({ keepLast, keepBest, keepEvery }) => keepLast !== undefined || !(keepBest ?? keepEvery), {
    path: ['keepLast'],
    error: 'a number if keepBest or keepEvery is given; without keepLast all checkpoints are kept',
  });

export type ResolvedCheckpointOptions = Readonly<z.infer<typeof schema>>;

/** @throws AccError `ACC_UNKNOWN_OPTION`, `ACC_INVALID_OPTION`. */
export function resolveCheckpointOptions(options: CheckpointOptions = {}): ResolvedCheckpointOptions {
  return parseOptions('checkpoint', schema, options);
}

function isStorage(value: unknown): boolean {
  const candidate = value as Partial<Storage> | null;
  return (
    typeof candidate === 'object' &&
    candidate !== null &&
    [candidate.put, candidate.get, candidate.list, candidate.delete].every(
      (verb) => typeof verb === 'function',
    )
  );
}
