import { existsSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { AccError, checkKeys, withLifecycle, type RunInfo, type Tracker } from '@acc/contract';
import { Gauge, Registry } from 'prom-client';
import { MetricsEndpoint } from './metrics-endpoint.js';

export interface PrometheusOptions {
  /**
   * The port that serves `/metrics` during the run. Default 9464; with `textfileDir` the default is
   * not to serve.
   */
  readonly port?: number;
  /** The address to listen on. Default 127.0.0.1. */
  readonly host?: string;
  /**
   * The folder of the textfile collector of Prometheus's node exporter. Each run writes a file
   * `acc-<id>.prom` there.
   */
  readonly textfileDir?: string;
}

const DEFAULT_PORT = 9464;
const RUN_LABELS = ['project', 'run', 'run_id'] as const;

/**
 * Exposes the last value of each metric to Prometheus, with its step. The gauges are `acc_metric`
 * and `acc_metric_step`, with the labels `project`, `run`, `run_id`, `name`, and `acc_run_status`,
 * which is 1 for the current status of the run.
 *
 * @throws AccError `ACC_UNKNOWN_OPTION`, `ACC_INVALID_OPTION`.
 */
export function prometheusTracker(options: PrometheusOptions = {}): Tracker {
  const { port, host, textfileDir } = resolved(options);
  const registry = new Registry();
  const gauge = <L extends string>(name: string, help: string, labelNames: readonly L[]) =>
    new Gauge({ name, help, labelNames: [...RUN_LABELS, ...labelNames], registers: [registry] });
  const values = gauge('acc_metric', 'The last logged value.', ['name']);
  const steps = gauge('acc_metric_step', 'The step of the last logged value.', ['name']);
  const status = gauge('acc_run_status', '1 for the current status of the run.', ['status']);
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
    // The rename is atomic: readers see either the complete new file or the complete old file.
    const text = await registry.metrics();
    try {
      writeFileSync(`${path}.tmp`, text);
      renameSync(`${path}.tmp`, path);
    } catch (error) {
      rmSync(`${path}.tmp`, { force: true });
      throw error;
    }
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
      help: "Set textfileDir to the node exporter's --collector.textfile.directory.",
    });
  }
  return { port, host, textfileDir };
}
