import { existsSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { AccError, checkKeys, withLifecycle, type RunInfo, type Tracker } from '@acc/contract';
import { Gauge, Registry } from 'prom-client';
import { MetricsEndpoint } from './metrics-endpoint.js';

export interface PrometheusOptions {
  /** Serves `/metrics` there while the run goes on. Default 9464, unless there is a `textfileDir`. */
  readonly port?: number;
  /** The address to listen on. Default 127.0.0.1. */
  readonly host?: string;
  /** The folder of the textfile collector of Prometheus's node exporter: each run has a file `acc-<id>.prom` in it. */
  readonly textfileDir?: string;
}

const DEFAULT_PORT = 9464;
const RUN_LABELS = ['project', 'run', 'run_id'] as const;

/**
 * Shows the last value of each metric to Prometheus, and the step that it is of: gauges `acc_metric` and `acc_metric_step` with
 * the labels `project`, `run`, `run_id`, `name`; and `acc_run_status`, 1 for the status of the run.
 *
 * @throws AccError `ACC_UNKNOWN_OPTION`, `ACC_INVALID_OPTION`.
 */
export function prometheusTracker(options: PrometheusOptions = {}): Tracker {
  const { port, host, textfileDir } = resolved(options);
  const registry = new Registry();
  const gauge = <L extends string>(name: string, help: string, labelNames: readonly L[]) =>
    new Gauge({ name, help, labelNames: [...RUN_LABELS, ...labelNames], registers: [registry] });
  const values = gauge('acc_metric', 'The last value that was logged.', ['name']);
  const steps = gauge('acc_metric_step', 'The step that the last value is of.', ['name']);
  const status = gauge('acc_run_status', '1 for the status that the run has.', ['status']);
  const endpoint = port === undefined ? undefined : new MetricsEndpoint(registry, host, port);
  let labels: Record<(typeof RUN_LABELS)[number], string>;
  const set = (step: number, metrics: Readonly<Record<string, number>>): void => {
    for (const [name, value] of Object.entries(metrics)) {
      values.set({ ...labels, name }, value);
      steps.set({ ...labels, name }, step);
    }
  };
  const write = async (): Promise<void> => {
    if (textfileDir === undefined) return;
    const path = join(textfileDir, `acc-${labels.run_id}.prom`);
    // Readers see the whole file or the one before.
    writeFileSync(`${path}.tmp`, await registry.metrics());
    renameSync(`${path}.tmp`, path);
  };
  const begin = async (run: RunInfo): Promise<void> => {
    labels = { project: run.project, run: run.name, run_id: run.id };
    status.set({ ...labels, status: 'running' }, 1);
    await endpoint?.open();
    await write();
  };
  return withLifecycle<Tracker>({
    name: 'prometheus',
    start: begin,
    resume: begin,
    async log(step, metrics) {
      set(step, metrics);
      await write();
    },
    async logBatch(rows) {
      for (const { step, metrics } of rows) set(step, metrics);
      await write();
    },
    async finish(ended) {
      status.remove({ ...labels, status: 'running' });
      status.set({ ...labels, status: ended }, 1);
      await write();
      await endpoint?.close();
    },
  });
}

function resolved(options: PrometheusOptions) {
  checkKeys('prometheus', options, ['port', 'host', 'textfileDir']);
  const { textfileDir, host = '127.0.0.1' } = options;
  const port = options.port ?? (textfileDir === undefined ? DEFAULT_PORT : undefined);
  if (port !== undefined && !(Number.isInteger(port) && port >= 0 && port < 65_536)) {
    throw new AccError('ACC_INVALID_OPTION', `prometheus: port is ${String(port)}.`, {
      help: 'Give 1 to 65535.',
    });
  }
  if (textfileDir !== undefined && !existsSync(textfileDir)) {
    throw new AccError('ACC_INVALID_OPTION', `prometheus: there is no folder ${textfileDir}.`, {
      help: "Give the node exporter's --collector.textfile.directory.",
    });
  }
  return { port, host, textfileDir };
}
