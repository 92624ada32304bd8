export type { WandbOptions } from './options.js';
export { wandbTracker as default, wandbTracker, type WandbHandle } from './wandb-tracker.js';
