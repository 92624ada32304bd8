export { consoleTracker, type ConsoleOptions } from './built-in/console.js';
export { csvTracker, type CsvOptions } from './built-in/csv.js';
export { jsonlTracker, type JsonlOptions } from './built-in/jsonl.js';
export { checkTracker } from './check-tracker.js';
export { DEFAULT_LIMITS, type TrackerLimits } from './limits.js';
export { loadTracker, makeTracker, type TrackerMaker } from './load-tracker.js';
export type { HistogramInput } from './payload/histogram.js';
export type { ImageInput, ImageInputs } from './payload/images.js';
export type { MetricValues } from './payload/metrics.js';
export type { TableInput } from './payload/table.js';
export type { RecordedTracker } from './recorded-tracker.js';
export { openRuns } from './run-record.js';
export { identifyRun, type RunIdentity, type RunOptions, type TrackersState } from './run-identity.js';
export {
  TrackerBus,
  type ArtifactOptions,
  type ModelOptions,
  type BusOptions,
  type BusRun,
  type HistogramOptions,
  type LogOptions,
} from './tracker-bus.js';
