import type * as fixedResults from './fixed-results.js';

/** Only for deterministic training on several processes. */
export const portablePieces = undefined as (typeof fixedResults)['portablePieces'] | undefined;
