export { cometTracker as default, cometTracker, type CometHandle } from './comet-tracker.js';
export type { CometOptions } from './options.js';
