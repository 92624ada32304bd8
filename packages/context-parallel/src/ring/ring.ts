import type { AttentionSettings } from '@acc/contract';
import type { columnsOf } from '../masks.js';
import type { Pieces } from '../pieces.js';

/** Settings and pieces that are the same for all blocks. */
export interface Ring {
  readonly settings: Omit<AttentionSettings, 'mask'>;
  readonly columns: ReturnType<typeof columnsOf> | undefined;
  readonly pieces: Pieces;
  /** Whether ranks have halves of two pieces, which gives them equal work in causal attention. */
  readonly isBalanced: boolean;
}
