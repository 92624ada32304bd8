export { forEachSize } from './for-each-size.js';
export { closeThreads, runOnThreads, type RunOnThreadsOptions } from './run-on-threads.js';
export type { ThreadModule } from './serve-thread.js';
export type { ThreadRanks } from './thread-ranks.js';
