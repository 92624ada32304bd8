export type { Alert } from './alerts.js';
export { monitor, type MonitorSink } from './monitor.js';
export {
  joinSamples,
  parseRecords,
  type JoinedStep,
  type SampleRow,
  type StepRow,
} from './records/format.js';
export { resolveAutoLog, type AutoLogOptions, type ResolvedAutoLog } from './options.js';
