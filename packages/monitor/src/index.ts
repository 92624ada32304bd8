export type { Alert } from './alerts.js';
export { monitor, type MonitorSink } from './monitor.js';
export { resolveAutoLog, type AutoLogOptions, type ResolvedAutoLog } from './options.js';
