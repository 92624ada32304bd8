export { mlflowTracker as default, mlflowTracker, type MlflowHandle } from './mlflow-tracker.js';
export type { MlflowOptions } from './options.js';
