import type { ResolvedOptions } from '../options.js';

/**
 * The options with the strategy that the mesh asks for: parameters are divided over an axis `fsdp`,
 * so `auto` is `fsdp` there.
 */
export function withShardedAxis(options: ResolvedOptions): ResolvedOptions {
  const { strategy, mesh } = options;
  return strategy === 'auto' && mesh?.fsdp !== undefined ? { ...options, strategy: 'fsdp' } : options;
}
