import { openAsBlob } from 'node:fs';
import {
  flattenConfig,
  withLifecycle,
  type RunConfig,
  type RunInfo,
  type RunStatus,
  type Stamp,
  type TrackedArtifact,
  type Tracker,
} from '@acc/contract';
import { ClearmlClient } from './client.js';
import { histogramPlot, lineEvent, metricEvents, placeOf, tablePlot } from './events.js';
import { resolveOptions, type ClearmlOptions, type ResolvedOptions } from './options.js';
import { createTask, reopenTask, type ClearmlTask } from './task.js';

const ENDS: Readonly<Record<RunStatus, string>> = {
  completed: 'tasks.completed',
  failed: 'tasks.failed',
  aborted: 'tasks.stopped',
};
const EVENTS_IN_BATCH = 5_000;
const RECENT_MS = 5_000;

/** The `client` of the tracker. Use `call` for everything that the tracker itself does not offer. */
export interface ClearmlHandle {
  readonly taskId: string;
  /** @param action For example `tasks.get_by_id`. */
  call<T>(action: string, parameters: object): Promise<T>;
}

/**
 * Records runs as tasks on a ClearML server: scalars, hyperparameters, text in the console, images,
 * histograms and tables as plots, files as artifacts, tags, and the status at the end.
 *
 * @throws AccError `ACC_UNKNOWN_OPTION`, `ACC_INVALID_OPTION`.
 */
export function clearmlTracker(options: ClearmlOptions = {}): Tracker {
  const recorder = new ClearmlRecorder(resolveOptions(options));
  return withLifecycle<Tracker>({
    name: 'clearml',
    get runId() {
      return recorder.task?.taskId;
    },
    get client() {
      return recorder.handle;
    },
    start: (run) => recorder.start(run),
    resume: (run, runId) => recorder.resume(run, runId),
    log: (step, metrics, { timeMs, sequence, signal }) =>
      recorder.add(metricEvents(recorder.taskId, [{ step, metrics, timeMs, sequence }]), signal),
    logBatch: (rows, { signal }) => recorder.add(metricEvents(recorder.taskId, rows), signal),
    logConfig: (config, { signal }) => recorder.setParameters(config, signal),
    logText: (_step, key, text, { timeMs, signal }) =>
      recorder.add([lineEvent(recorder.taskId, timeMs, `${key}: ${text}`)], signal),
    logImage: (step, key, { png }, stamp) => recorder.addImage(step, key, png, stamp),
    logHistogram: (step, key, histogram, stamp) =>
      recorder.addPlot(step, key, histogramPlot(histogram), stamp),
    logTable: (step, key, table, stamp) => recorder.addPlot(step, key, tablePlot(table), stamp),
    logArtifact: (_step, artifact, stamp) => recorder.addArtifact(artifact, stamp),
    finish: (status) => recorder.finish(status),
  });
}

/** Records one run on one server. */
class ClearmlRecorder {
  readonly #options: ResolvedOptions;
  readonly #client: ClearmlClient;
  #tries = 0;
  task: ClearmlTask | undefined;

  constructor(options: ResolvedOptions) {
    this.#options = options;
    this.#client = new ClearmlClient(options);
  }

  get taskId(): string {
    return this.task!.taskId;
  }

  get handle(): ClearmlHandle | undefined {
    if (!this.task) return undefined;
    return { taskId: this.taskId, call: (action, parameters) => this.#client.call(action, parameters) };
  }

  async start(run: RunInfo): Promise<void> {
    const { project = run.project } = this.#options;
    // A run that began long ago was begun by an earlier process, which may have succeeded.
    const isRetry = this.#tries > 0 || Date.now() - run.startTimeMs > RECENT_MS;
    const attempt = ++this.#tries;
    const task = await createTask(this.#client, run, { project, isRetry });
    // An attempt that was given up may end late. The entries stay in the task of the last one.
    if (attempt === this.#tries) this.task = task;
  }

  async resume(run: RunInfo, taskId: string): Promise<void> {
    const { project = run.project } = this.#options;
    this.task = await reopenTask(this.#client, run, { project, taskId });
  }

  async add(events: readonly object[], signal: AbortSignal): Promise<void> {
    for (let from = 0; from < events.length; from += EVENTS_IN_BATCH) {
      await this.#client.addEvents(events.slice(from, from + EVENTS_IN_BATCH), signal);
    }
  }

  async setParameters(config: RunConfig, signal: AbortSignal): Promise<void> {
    const flat = Object.entries(flattenConfig(config));
    const hyperparams = flat.map(([name, value]) => ({ section: 'General', name, value: String(value) }));
    // ClearML refuses a request without any.
    if (hyperparams.length === 0) return;
    const edit = { task: this.taskId, hyperparams, replace_hyperparams: 'section', force: true };
    await this.#client.call('tasks.edit_hyper_params', edit, signal);
  }

  async addImage(step: number, key: string, png: Uint8Array, { timeMs, signal }: Stamp): Promise<void> {
    const parts = [...this.task!.folder, 'metrics', key, `${step}.png`];
    const blob = new Blob([png as Uint8Array<ArrayBuffer>], { type: 'image/png' });
    const url = await this.#client.upload(parts, blob, signal);
    const image = { url, key: new URL(url).pathname, iter: step, timestamp: timeMs };
    await this.add([{ type: 'training_debug_image', task: this.taskId, ...placeOf(key), ...image }], signal);
  }

  async addPlot(step: number, key: string, plot: string, { timeMs, signal }: Stamp): Promise<void> {
    const event = { type: 'plot', task: this.taskId, ...placeOf(key), iter: step, timestamp: timeMs };
    await this.add([{ ...event, plot_str: plot }], signal);
  }

  /** Stores each file, and lists it as an artifact `<name>/<file>`. */
  async addArtifact({ name, type, files }: TrackedArtifact, { timeMs, signal }: Stamp): Promise<void> {
    for (const file of files) {
      const parts = [...this.task!.folder, 'artifacts', name, ...file.name.split('/')];
      const uri = await this.#client.upload(parts, await openAsBlob(file.path), signal);
      const listed = { mode: 'output', uri, content_size: file.bytes, timestamp: Math.floor(timeMs / 1000) };
      const artifacts = [{ key: `${name}/${file.name}`, type, ...listed }];
      await this.#client.call(
        'tasks.add_or_update_artifacts',
        { task: this.taskId, artifacts, force: true },
        signal,
      );
    }
  }

  async finish(status: RunStatus): Promise<void> {
    await this.#client.call(ENDS[status], { task: this.taskId, force: true });
  }
}
