import { AccError, parseOptions } from '@acc/contract';
import { commHookOf } from '#platform/named-hooks';
import * as z from 'zod';
import type { CommHook } from './comm-hook.js';
import type { NamedCommHook } from './comm-hooks/named.js';

export interface DdpOptions {
  /** The size of gradient buckets, in bytes. Default 25 MiB, as in PyTorch. */
  readonly bucketBytes?: number;
  /**
   * How gradients are reduced over ranks: the name of a hook, a name with options, or your own
   * hook. Default: a plain sum.
   */
  readonly commHook?: NamedCommHook | CommHook;
  /**
   * `broadcast` (default): after each step, all ranks take over the moving statistics of rank 0.
   * `sync`: training normalises by the statistics of all ranks' samples. `local`: neither.
   */
  readonly batchNorm?: 'broadcast' | 'sync' | 'local';
  /** True means `batchNorm: 'sync'`. */
  readonly syncBatchNorm?: boolean;
  /**
   * `backward` (default): gradients are reduced during backward. `apply`: gradients stay local
   * until an optimizer applies them, for loops that process them first.
   */
  readonly syncAt?: 'backward' | 'apply';
  /**
   * Whether the gradients of each micro-batch are reduced over ranks, in place of once a window. `accumulate`
   * then gives its function the gradients of all ranks, and communicates more. Default false.
   */
  readonly syncEachBatch?: boolean;
  /**
   * False: it is an error if a rank does not use a variable of a reduction. Default true: such
   * variables are allowed.
   */
  readonly findUnused?: boolean;
}

const schema = z.object({
  bucketBytes: z
    .number()
    .int()
    .positive()
    .default(25 * 1024 * 1024),
  commHook: z.custom<NamedCommHook | CommHook>().optional(),
  batchNorm: z.enum(['broadcast', 'sync', 'local']).optional(),
  syncBatchNorm: z.boolean().optional(),
  syncAt: z.enum(['backward', 'apply']).default('backward'),
  syncEachBatch: z.boolean().default(false),
  findUnused: z.boolean().default(true),
});

type Parsed = z.infer<typeof schema>;
export type ResolvedDdpOptions = Readonly<
  Omit<Parsed, 'batchNorm' | 'syncBatchNorm'> & { batchNorm: NonNullable<Parsed['batchNorm']> }
>;

/** Options with their defaults. @throws AccError `ACC_UNKNOWN_OPTION`, `ACC_INVALID_OPTION`. */
export function resolveDdpOptions(options: DdpOptions = {}): ResolvedDdpOptions {
  const resolved = parseOptions('ddp', schema, options);
  // Checks the name and options of a hook even if the strategy is not used.
  if (resolved.commHook !== undefined) commHookOf(resolved.commHook);
  const { batchNorm, syncBatchNorm, ...others } = resolved;
  if (resolved.syncEachBatch && resolved.syncAt === 'apply') {
    throw new AccError('ACC_INVALID_OPTION', "ddp: syncEachBatch: true contradicts syncAt: 'apply'.", {
      help: 'Set only one of the two options.',
    });
  }
  if (batchNorm !== undefined && syncBatchNorm !== undefined && (batchNorm === 'sync') !== syncBatchNorm) {
    throw new AccError(
      'ACC_INVALID_OPTION',
      `ddp: syncBatchNorm: ${syncBatchNorm} contradicts batchNorm: '${batchNorm}'.`,
      { help: 'Set only one of the two options.' },
    );
  }
  return { ...others, batchNorm: batchNorm ?? (syncBatchNorm ? 'sync' : 'broadcast') };
}

/** The options that must be the same on every rank. */
export function comparedOptions({ commHook, ...others }: ResolvedDdpOptions): Record<string, unknown> {
  const isByName = typeof commHook !== 'object' || !('reduce' in commHook);
  return { ...others, commHook: isByName ? (commHook ?? 'none') : commHook.name };
}
