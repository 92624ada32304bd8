import type { Strategy } from '@acc/contract';

interface Chosen {
  readonly strategy: 'auto' | 'single' | 'ddp' | 'fsdp' | Strategy;
  readonly mesh?: { readonly fsdp?: number | undefined } | undefined;
}

/**
 * The options with the strategy that the mesh asks for: parameters are divided over an axis `fsdp`,
 * so `auto` is `fsdp` there.
 */
export function withShardedAxis<O extends Chosen>(options: O): O {
  const { strategy, mesh } = options;
  return strategy === 'auto' && mesh?.fsdp !== undefined ? { ...options, strategy: 'fsdp' } : options;
}
