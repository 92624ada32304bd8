import { AccError, parseOptions } from '@acc/contract';
import { z } from 'zod';
import type { CommHook } from './comm-hook.js';
import { commHookOf, type NamedCommHook } from './comm-hooks/named.js';

export interface DdpOptions {
  /** Gradients are all-reduced in buckets of about this many bytes. Default 25 MiB, as PyTorch's. */
  readonly bucketBytes?: number;
  /** How gradients go over the ranks: by name, by name with options, or a hook of one's own. Default: a plain sum. */
  readonly commHook?: NamedCommHook | CommHook;
  /**
   * `broadcast` (default): the moving statistics of batch normalisation are rank 0's after each step. `sync`: training
   * normalises by the statistics of all ranks' samples. `local`: neither.
   */
  readonly batchNorm?: 'broadcast' | 'sync' | 'local';
  /** True is `batchNorm: 'sync'`. */
  readonly syncBatchNorm?: boolean;
  /**
   * `backward` (default): gradients are reduced while they are computed. `apply`: they stay this rank's own until an optimizer is
   * to apply them, for loops that make something of them first.
   */
  readonly syncAt?: 'backward' | 'apply';
  /** False: a variable that a reduction asks for and a rank did not use is an error. Default true: such are handled. */
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
  findUnused: z.boolean().default(true),
});

type Parsed = z.infer<typeof schema>;
export type ResolvedDdpOptions = Readonly<
  Omit<Parsed, 'batchNorm' | 'syncBatchNorm'> & { batchNorm: NonNullable<Parsed['batchNorm']> }
>;

/** Options with their defaults. @throws AccError `ACC_UNKNOWN_OPTION`, `ACC_INVALID_OPTION`. */
export function resolveDdpOptions(options: DdpOptions = {}): ResolvedDdpOptions {
  const resolved = parseOptions('ddp', schema, options);
  // A wrong name or option of a hook is found here, whether or not the strategy is used.
  if (resolved.commHook !== undefined) commHookOf(resolved.commHook);
  const { batchNorm, syncBatchNorm, ...others } = resolved;
  if (batchNorm !== undefined && syncBatchNorm !== undefined && (batchNorm === 'sync') !== syncBatchNorm) {
    throw new AccError(
      'ACC_INVALID_OPTION',
      `ddp: syncBatchNorm: ${syncBatchNorm} contradicts batchNorm: '${batchNorm}'.`,
      { help: 'Give one of them.' },
    );
  }
  return { ...others, batchNorm: batchNorm ?? (syncBatchNorm ? 'sync' : 'broadcast') };
}

/** What must be alike on every rank. */
export function comparedOptions({ commHook, ...others }: ResolvedDdpOptions): Record<string, unknown> {
  const isByName = typeof commHook !== 'object' || !('reduce' in commHook);
  return { ...others, commHook: isByName ? (commHook ?? 'none') : commHook.name };
}
