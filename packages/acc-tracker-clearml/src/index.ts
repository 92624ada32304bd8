export { clearmlTracker as default, clearmlTracker, type ClearmlHandle } from './clearml-tracker.js';
export type { ClearmlOptions } from './options.js';
