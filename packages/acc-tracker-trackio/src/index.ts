export { trackioTracker as default, trackioTracker } from './trackio-tracker.js';
export type { TrackioOptions } from './trackio-server.js';
