import {
  flattenConfig,
  withLifecycle,
  type MetricsRow,
  type RunInfo,
  type RunStatus,
  type Tracker,
} from '@acc/contract';
import { ArtifactFolder, imagePath } from './artifacts.js';
import { MlflowClient } from './client.js';
import { metricName, metricValue } from './names.js';
import { resolveOptions, type MlflowOptions } from './options.js';
import { registerVersion } from './registry.js';
import { createRun, reopenRun, type MlflowRun } from './run.js';

const STATUS: Readonly<Record<RunStatus, string>> = {
  completed: 'FINISHED',
  failed: 'FAILED',
  aborted: 'KILLED',
};
const MAX_PARAMS = 100;
const RECENT_MS = 5_000;

/** The `client` of the tracker. Use `call` for everything that the tracker itself does not offer. */
export interface MlflowHandle {
  /** The page of the run, for a browser. */
  readonly runUrl: string;
  readonly experimentId: string;
  call<T>(method: 'GET' | 'POST', path: string, parameters: Readonly<Record<string, unknown>>): Promise<T>;
}

/**
 * Records runs on an MLflow server of version 2 or 3: metrics, params, text, images, tables, files,
 * tags, and the status at the end.
 *
 * @throws AccError `ACC_UNKNOWN_OPTION`, `ACC_INVALID_OPTION`.
 */
export function mlflowTracker(options: MlflowOptions = {}): Tracker {
  const resolved = resolveOptions(options);
  const recorder = new MlflowRecorder(resolved);
  const text = (value: string) => Buffer.from(value);
  return withLifecycle<Tracker>({
    name: 'mlflow',
    get runId() {
      return recorder.run?.runId;
    },
    get client() {
      return recorder.handle;
    },
    start: (run) => recorder.start(run),
    resume: (run, runId) => recorder.resume(run, runId),
    log: (step, metrics, { timeMs, sequence, signal }) =>
      recorder.logMetrics([{ step, metrics, timeMs, sequence }], signal),
    logBatch: (rows, { signal }) => recorder.logMetrics(rows, signal),
    logConfig: (config, { signal }) => recorder.logParams(flattenConfig(config), signal),
    logText: (step, key, value, { signal }) =>
      recorder.files.putBytes(`text/${key}/${step}.txt`, text(value), signal),
    async logImage(step, key, { png }, { timeMs, sequence, signal }) {
      const path = imagePath(key, step, timeMs, `${recorder.run!.runId} ${sequence}`);
      await recorder.files.putBytes(`${path}.png`, png, signal);
      // MLflow's pages show the `.webp` file first. Its content is PNG, which browsers detect.
      await recorder.files.putBytes(`${path}.webp`, png, signal);
      await recorder.setTag('mlflow.loggedImages', 'True', signal);
    },
    async logTable(step, key, { columns, rows }, { signal }) {
      const path = `tables/${key}/${step}.json`;
      await recorder.files.putBytes(path, text(JSON.stringify({ columns, data: rows })), signal);
      await recorder.listTable(key, path, signal);
    },
    async logArtifact(_step, { name, files }, { signal }) {
      for (const file of files) await recorder.files.putFile(`${name}/${file.name}`, file, signal);
    },
    async logModel(step, { name, files, registeredName, aliases }, { sequence, signal }) {
      // A repeated call has the same number, and another model of the step another one.
      const folder = `models/${name}/${step}-${sequence}`;
      for (const file of files) await recorder.files.putFile(`${folder}/${file.name}`, file, signal);
      if (registeredName === undefined) return;
      await registerVersion(
        recorder.client,
        { name: registeredName, aliases, ...recorder.folder(folder) },
        signal,
      );
    },
    finish: (status) => recorder.finish(status),
  });
}

/** Records one run on one server. */
class MlflowRecorder {
  readonly #options: ReturnType<typeof resolveOptions>;
  readonly client: MlflowClient;
  /** The last table of each name, which the run's page lists. */
  readonly #tables = new Map<string, string>();
  #tries = 0;
  run: MlflowRun | undefined;

  constructor(options: ReturnType<typeof resolveOptions>) {
    this.#options = options;
    this.client = new MlflowClient(options);
  }

  get files(): ArtifactFolder {
    return new ArtifactFolder(this.client, this.run!.artifactUri);
  }

  /** A folder of the run's files, as a source of models. */
  folder(path: string): { runId: string; source: string } {
    const { runId, artifactUri } = this.run!;
    return { runId, source: `${artifactUri}/${path}` };
  }

  get handle(): MlflowHandle | undefined {
    if (!this.run) return undefined;
    const { experimentId, runId } = this.run;
    return {
      runUrl: `${this.client.url}/#/experiments/${experimentId}/runs/${runId}`,
      experimentId,
      call: (method, path, parameters) => this.client.call(method, path, parameters),
    };
  }

  async start(info: RunInfo): Promise<void> {
    const { runId, experiment = info.project } = this.#options;
    if (runId !== undefined) return this.resume(info, runId);
    // A run that began long ago was begun by an earlier process, which may have succeeded.
    const isRetry = this.#tries++ > 0 || Date.now() - info.startTimeMs > RECENT_MS;
    this.run = await createRun(this.client, info, { experiment, isRetry });
  }

  async resume(_info: RunInfo, runId: string): Promise<void> {
    this.run = await reopenRun(this.client, runId);
  }

  async logMetrics(rows: readonly MetricsRow[], signal: AbortSignal): Promise<void> {
    const metrics = rows.flatMap(({ step, metrics: of, timeMs }) =>
      Object.entries(of).map(([key, value]) => ({
        key: metricName(key),
        value: metricValue(value),
        timestamp: timeMs,
        step,
      })),
    );
    for (const part of parts(metrics, this.#options.batchMetrics))
      await this.#logBatch({ metrics: part }, signal);
  }

  /**
   * Params are not sent together with metrics, because MLflow would refuse the whole request for
   * one bad param.
   */
  async logParams(
    params: Readonly<Record<string, string | number | boolean>>,
    signal: AbortSignal,
  ): Promise<void> {
    const wanted = Object.entries(params).map(([key, value]) => ({
      key: metricName(key),
      value: String(value),
    }));
    const had = this.run!.params;
    const changed = wanted.filter(({ key, value }) => key in had && had[key] !== value);
    // In MLflow a param can never change, but a tag can.
    for (const { key, value } of changed) await this.setTag(`config.${key}`, value, signal);
    const added = wanted.filter(({ key }) => !(key in had));
    for (const part of parts(added, MAX_PARAMS)) await this.#logBatch({ params: part }, signal);
  }

  async setTag(key: string, value: string, signal: AbortSignal): Promise<void> {
    await this.client.call('POST', 'runs/set-tag', { run_id: this.run!.runId, key, value }, signal);
  }

  async listTable(key: string, path: string, signal: AbortSignal): Promise<void> {
    this.#tables.set(key, path);
    const list = [...this.#tables.values()].map((table) => ({ path: table, type: 'table' }));
    await this.setTag('mlflow.loggedArtifacts', JSON.stringify(list), signal);
  }

  async finish(status: RunStatus): Promise<void> {
    const end = { run_id: this.run!.runId, status: STATUS[status], end_time: Date.now() };
    await this.client.call('POST', 'runs/update', end);
  }

  async #logBatch(batch: Readonly<Record<string, readonly object[]>>, signal: AbortSignal): Promise<void> {
    await this.client.call('POST', 'runs/log-batch', { run_id: this.run!.runId, ...batch }, signal);
  }
}

function parts<T>(list: readonly T[], size: number): T[][] {
  return Array.from({ length: Math.ceil(list.length / size) }, (_, i) =>
    list.slice(i * size, (i + 1) * size),
  );
}
