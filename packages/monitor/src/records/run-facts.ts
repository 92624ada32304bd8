import type { Facts } from '@acc/records';

/** The facts of a run that its Accelerator knows. */
export type RunFacts = Pick<Facts, 'strategy' | 'options' | 'createdAt' | 'checkpoints'>;
