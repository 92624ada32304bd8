export { forwardRanks } from '../prepare/forward-ranks.js';
export { UnpreparedSteps } from '../prepare/unprepared-steps.js';
export { warnOfAxesBetweenHosts } from '../presets/axes-between-hosts.js';
export { ranksPerHost, requireBesideExperts, requireBesidePipeline } from '../presets/several-ranks.js';
export { buffersOfRank, differingBuffers, noteBuffers, storedBuffers } from '../state/rank-buffers.js';
export { shareRandomStates } from '../random/synchronize.js';
