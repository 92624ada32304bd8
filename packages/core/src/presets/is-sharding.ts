import type { ResolvedOptions } from '../options.js';

/** Whether the options divide parameters over ranks by `fsdp`. */
export function isSharding({ strategy, fsdp }: Pick<ResolvedOptions, 'strategy' | 'fsdp'>): boolean {
  return strategy === 'fsdp' && fsdp?.stage !== 'NO_SHARD';
}
