import type * as fixedResults from './fixed-results.js';

/** Only for deterministic training on several processes. */
export const portableShards = undefined as (typeof fixedResults)['portableShards'] | undefined;
