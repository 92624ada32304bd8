import type { AttentionSettings } from '@acc/contract';
import type { columnsOf } from '../masks.js';
import type { SequenceShards } from '../sequence-shards.js';

/** Settings and shards that are the same for all blocks. */
export interface Ring {
  readonly settings: Omit<AttentionSettings, 'mask'>;
  readonly columns: ReturnType<typeof columnsOf> | undefined;
  readonly shards: SequenceShards;
  /** Whether ranks have halves of two shards, which gives them equal work in causal attention. */
  readonly isBalanced: boolean;
}
