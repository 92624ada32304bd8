export { shardValidation } from '../fit/shard-validation.js';
export { forwardRanks } from '../prepare/forward-ranks.js';
export { requireSameSettings } from '../prepare/optimizer-settings.js';
export { UnpreparedSteps } from '../prepare/unprepared-steps.js';
export { warnOfAxesBetweenHosts } from '../presets/axes-between-hosts.js';
export { collectiveOf } from '../presets/collective.js';
export { ranksPerHost, requireBesideExperts, requireBesidePipeline } from '../presets/several-ranks.js';
export { buffersOfRank, differingBuffers, noteBuffers, storedBuffers } from '../state/rank-buffers.js';
export { shareRandomStates } from '../random/synchronize.js';
