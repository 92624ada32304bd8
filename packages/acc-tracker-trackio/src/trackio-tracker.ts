import { withLifecycle, type MetricsRow, type RunInfo, type Tracker } from '@acc/contract';
import { TrackioServer, type TrackioOptions } from './trackio-server.js';

const SYSTEM = 'system/';
const ALERTS = 'alerts/';

/**
 * Records runs on a Trackio server: metrics, system metrics, hyperparameters, text as Markdown,
 * tables and alerts.
 *
 * @throws AccError `ACC_UNKNOWN_OPTION`, `ACC_INVALID_OPTION`.
 */
export function trackioTracker(options: TrackioOptions = {}): Tracker {
  const server = new TrackioServer(options);
  let run: RunInfo;
  const begin = async (of: RunInfo): Promise<void> => {
    run = of;
    // Sends no logs. The answer shows whether the server accepts requests.
    await server.post('bulk_log', { logs: [] });
  };
  const logRows = async (rows: readonly MetricsRow[], signal: AbortSignal): Promise<void> => {
    const { logs, systemLogs } = logsOf(run, rows);
    if (logs.length > 0) await server.post('bulk_log', { logs }, signal);
    if (systemLogs.length > 0) await server.post('bulk_log_system', { logs: systemLogs }, signal);
  };
  const logValue = (step: number, sequence: number, metrics: object, signal: AbortSignal) =>
    server.post('bulk_log', { logs: [{ ...entryOf(run, sequence), step, metrics }] }, signal);
  return withLifecycle<Tracker>({
    name: 'trackio',
    start: begin,
    resume: begin,
    log: (step, metrics, { sequence, timeMs, signal }) =>
      logRows([{ step, metrics, sequence, timeMs }], signal),
    logBatch: (rows, { signal }) => logRows(rows, signal),
    logConfig: (config, { sequence, signal }) =>
      server.post(
        'bulk_log',
        { logs: [{ ...entryOf(run, sequence), step: 0, metrics: {}, config }] },
        signal,
      ),
    logText(step, key, text, { sequence, timeMs, signal }) {
      if (!key.startsWith(ALERTS)) {
        return logValue(step, sequence, { [key]: { _type: 'trackio.markdown', _value: text } }, signal);
      }
      const { log_id: alert_id, ...of } = entryOf(run, sequence);
      const title = key.slice(ALERTS.length);
      const timestamp = new Date(timeMs).toISOString();
      const alert = { ...of, alert_id, title, text, level: 'warn', step, timestamp };
      return server.post('bulk_alert', { alerts: [alert] }, signal);
    },
    logTable(step, key, { columns, rows }, { sequence, signal }) {
      const records = rows.map((row) => Object.fromEntries(columns.map((column, i) => [column, row[i]])));
      return logValue(step, sequence, { [key]: { _type: 'trackio.table', _value: records } }, signal);
    },
    // Trackio has no status of a run.
    finish: () => Promise.resolve(),
  });
}

/** The fields of a log. The `log_id` makes Trackio store it once, even if it is sent twice. */
function entryOf({ project, name, id, rank }: RunInfo, sequence: number) {
  return { project, run: name, run_id: id, log_id: `${id}-${rank}-${sequence}` };
}

/** Splits rows into logs and system logs, as Trackio takes them. System logs have no steps. */
function logsOf(run: RunInfo, rows: readonly MetricsRow[]): { logs: object[]; systemLogs: object[] } {
  const [logs, systemLogs]: [object[], object[]] = [[], []];
  for (const { step, metrics, sequence, timeMs } of rows) {
    const entry = entryOf(run, sequence);
    const all = Object.entries(metrics);
    const own = all.filter(([key]) => !key.startsWith(SYSTEM));
    const system = all.filter(([key]) => key.startsWith(SYSTEM));
    if (own.length > 0) logs.push({ ...entry, step, metrics: Object.fromEntries(own) });
    if (system.length === 0) continue;
    const figures = system.map(([key, value]) => [key.slice(SYSTEM.length), value]);
    const timestamp = new Date(timeMs).toISOString();
    systemLogs.push({ ...entry, timestamp, metrics: Object.fromEntries(figures) as object });
  }
  return { logs, systemLogs };
}
