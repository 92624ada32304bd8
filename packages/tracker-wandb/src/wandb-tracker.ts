import { existsSync, mkdirSync } from 'node:fs';
import { hostname } from 'node:os';
import { join } from 'node:path';
import {
  AccError,
  withLifecycle,
  type MetricsRow,
  type RunInfo,
  type RunStatus,
  type Tracker,
} from '@acc/contract';
import { artifactName, identify, type SequenceIds } from './artifact.js';
import { LogFile } from './log-file.js';
import { histogramJson, storeImage, storeTable, type Media } from './media.js';
import { dropRow, keptRows, RowFile, type OpenRow } from './open-row.js';
import { resolveOptions, type ResolvedOptions, type WandbOptions } from './options.js';
import * as records from './records.js';
import { Upload } from './upload.js';

/** The exit codes of the `wandb` package. 255 means that the run was interrupted with Ctrl-C. */
const EXIT_CODES: Readonly<Record<RunStatus, number>> = { completed: 0, failed: 1, aborted: 255 };
const SYSTEM = 'system/';
const ALERTS = 'alerts/';

/** The `client` of the tracker. */
export interface WandbHandle {
  /** The folder to pass to `wandb sync`. */
  readonly dir: string;
  readonly syncCommand: string;
}

/**
 * Writes runs like the `wandb` package does offline, and lets its program upload them. Logged data
 * is on disk at once, and the training never waits for the network. If the program is missing, the
 * command that uploads the run is printed at its end.
 *
 * @throws AccError `ACC_UNKNOWN_OPTION`, `ACC_INVALID_OPTION`.
 */
export function wandbTracker(options: WandbOptions = {}): Tracker {
  const recorder = new WandbRecorder(resolveOptions(options));
  return withLifecycle<Tracker>({
    name: 'wandb',
    get client() {
      return recorder.handle;
    },
    start: (run) => Promise.resolve(recorder.open(run, false)),
    resume: (run) => Promise.resolve(recorder.open(run, true)),
    log: (step, metrics, { timeMs, sequence }) => recorder.addRows([{ step, metrics, timeMs, sequence }]),
    logBatch: (rows) => recorder.addRows(rows),
    logConfig: (config) => recorder.add([records.configRecord(config)]),
    logText(step, key, text, { timeMs }) {
      recorder.addValue(step, timeMs, key, JSON.stringify(text));
      if (key.startsWith(ALERTS)) recorder.add([records.alertRecord(key.slice(ALERTS.length), text)]);
    },
    logImage: (step, key, image, { timeMs }) =>
      recorder.addMedia(step, timeMs, key, (dir) => storeImage(dir, key, step, image)),
    logHistogram: (step, key, histogram, { timeMs }) =>
      recorder.addValue(step, timeMs, key, histogramJson(histogram)),
    logTable: (step, key, table, { timeMs }) =>
      recorder.addMedia(step, timeMs, key, (dir) => storeTable(dir, key, step, table)),
    logArtifact: (_step, artifact, { signal }) => recorder.addArtifact(artifact, signal),
    finish: (status) => recorder.finish(status),
  });
}

class WandbRecorder {
  readonly #options: ResolvedOptions;
  readonly #sequences: SequenceIds = new Map();
  #file!: LogFile;
  #rowFile!: RowFile;
  #run!: RunInfo;
  #dir: string | undefined;
  #records = 0;
  #summary: Record<string, string> = {};
  #upload: Upload | undefined;
  /** The row of the last step, to which more values may be added. */
  #row: OpenRow | undefined;

  constructor(options: ResolvedOptions) {
    this.#options = options;
  }

  get handle(): WandbHandle | undefined {
    if (this.#dir === undefined) return undefined;
    return { dir: this.#dir, syncCommand: `${this.#options.program} sync ${this.#dir}` };
  }

  open(run: RunInfo, isResumed: boolean): void {
    const { project = run.project, upload, program } = this.#options;
    this.#run = { ...run, project };
    const folders = join(run.dir, 'wandb');
    endKilledLogs(folders, run);
    this.#dir = freeFolder(join(folders, `offline-run-${dateName(Date.now())}-${run.id}`));
    mkdirSync(this.#filesDir, { recursive: true });
    this.#file = LogFile.create(join(this.#dir, this.#log));
    this.#rowFile = new RowFile(this.#dir);
    const { entity, group, jobType, notes } = this.#options;
    const own = { entity, group, jobType, notes, host: hostname(), isResumed };
    this.add([records.header(), records.runRecord(this.#run, own)]);
    if (upload === 'live') this.#upload = new Upload(program, ['beta', 'sync', '--live', this.#dir]);
  }

  add(bodies: readonly records.RecordBody[]): void {
    this.#file.add(bodies.map((body, i) => records.recordOf(this.#records + i + 1, body)));
    this.#records += bodies.length;
    if (!this.#row) return;
    const log = { log: this.#log, logBytes: this.#file.bytes, logRecords: this.#records };
    this.#rowFile.keep({ row: this.#row, ...log });
  }

  /** Adds history rows. System metrics are a separate stream in W&B. */
  addRows(rows: readonly MetricsRow[]): void {
    this.#requireAscending(rows.map(({ step }) => step));
    this.#orUndo(() => this.#addRows(rows));
  }

  #addRows(rows: readonly MetricsRow[]): void {
    const bodies = rows.flatMap(({ step, timeMs, metrics }) => {
      const [system, values]: [Record<string, string>, Record<string, string>] = [{}, {}];
      for (const [key, value] of Object.entries(metrics)) {
        if (key.startsWith(SYSTEM)) system[key.slice(SYSTEM.length)] = String(value);
        // W&B's JSON writes NaN and infinities without quotes.
        else values[key] = String(value);
      }
      const stats = Object.keys(system).length > 0 ? [records.statsRecord(timeMs, system)] : [];
      return [...stats, ...(Object.keys(values).length > 0 ? this.#merged(step, timeMs, values) : [])];
    });
    this.add([...bodies, records.summaryRecord(this.#summary)]);
  }

  addValue(step: number, timeMs: number, key: string, json: string): void {
    this.#requireAscending([step]);
    this.#orUndo(() =>
      this.add([...this.#merged(step, timeMs, { [key]: json }), records.summaryRecord(this.#summary)]),
    );
  }

  /** After a failure, for example of a full disk, the same values are given again. */
  #orUndo(work: () => void): void {
    const [row, summary] = [this.#row, { ...this.#summary }];
    try {
      work();
    } catch (error) {
      this.#row = row;
      this.#summary = summary;
      throw error;
    }
  }

  addMedia(step: number, timeMs: number, key: string, store: (filesDir: string) => Media): void {
    const { path, json } = store(this.#filesDir);
    this.add([records.filesRecord([path])]);
    this.addValue(step, timeMs, key, json);
  }

  async addArtifact(artifact: Parameters<typeof identify>[0], signal: AbortSignal): Promise<void> {
    const named = { ...artifact, name: artifactName(artifact.name) };
    const identity = await identify(named, this.#sequences, signal);
    this.add([records.artifactRecord(this.#run, this.#options.entity, named, identity)]);
  }

  async finish(status: RunStatus): Promise<void> {
    const runtimeSeconds = (Date.now() - this.#run.startTimeMs) / 1000;
    this.#orUndo(() => this.add(this.#takeRow()));
    this.#rowFile.remove();
    this.add([records.summaryRecord(this.#summary), records.exitRecord(EXIT_CODES[status], runtimeSeconds)]);
    this.#file.close();
    const { upload, program, uploadMs } = this.#options;
    // An aborted run does not wait for its upload.
    if (upload === 'never' || status === 'aborted') return this.#say('is on disk');
    this.#upload ??= new Upload(program, ['sync', this.#dir!, '--yes']);
    const result = await this.#upload.ended(uploadMs);
    if (result === 'done') console.log(`wandb: ${this.#upload.output}`);
    if (result === 'missing')
      this.#say(`was not uploaded: the program '${program}' is not installed (pip install wandb)`);
    if (result === 'late') this.#say(`was not uploaded within ${uploadMs} ms`);
    if (result === 'failed') this.#say(`was not uploaded: ${this.#upload.output}`);
  }

  get #log(): string {
    return `run-${this.#run.id}.wandb`;
  }

  get #filesDir(): string {
    return join(this.#dir!, 'files');
  }

  /**
   * Merges values into the row of their step. W&B keeps one row for each step, and would move a
   * second row to the following step. Therefore a row is added to the log only when the next step
   * begins. Until then it is kept in a file beside the log, because uploaders may read the log as
   * it grows.
   */
  #merged(step: number, timeMs: number, values: records.Json): records.RecordBody[] {
    const time = { _step: String(step), _timestamp: String(timeMs / 1000) };
    Object.assign(this.#summary, values, time, { _runtime: String((timeMs - this.#run.startTimeMs) / 1000) });
    if (this.#row?.step === step) {
      this.#row = { step, timeMs, values: { ...this.#row.values, ...values } };
      return [];
    }
    const done = this.#takeRow();
    this.#row = { step, timeMs, values };
    return done;
  }

  #takeRow(): records.RecordBody[] {
    if (!this.#row) return [];
    const { step, timeMs, values } = this.#row;
    this.#row = undefined;
    return [records.historyRecord(step, timeMs, this.#run.startTimeMs, values)];
  }

  #requireAscending(steps: readonly number[]): void {
    let last = this.#row?.step ?? -Infinity;
    for (const step of steps) {
      if (step < last) {
        throw new AccError('ACC_TRACKER_REFUSED', `W&B does not accept step ${step} after step ${last}.`, {
          help: 'Log steps in ascending order.',
        });
      }
      last = step;
    }
  }

  #say(how: string): void {
    console.log(`wandb: run ${this.#run.id} ${how}. To upload it: ${this.handle!.syncCommand}`);
  }
}

/** Adds the kept rows of killed processes to their logs. */
function endKilledLogs(folders: string, { startTimeMs }: RunInfo): void {
  for (const { dir, kept } of keptRows(folders)) {
    const { step, timeMs, values } = kept.row;
    const file = LogFile.goOn(join(dir, kept.log), kept.logBytes);
    const row = records.historyRecord(step, timeMs, startTimeMs, values);
    file.add([records.recordOf(kept.logRecords + 1, row)]);
    file.close();
    dropRow(dir);
  }
}

/**
 * The folder's name contains the time in seconds. A resumed run may begin within the same second,
 * so a number is appended.
 */
function freeFolder(path: string, further = 0): string {
  const free = further === 0 ? path : `${path}-${further}`;
  return existsSync(free) ? freeFolder(path, further + 1) : free;
}

/** The date format of the `wandb` package's folder names: `20261121_180200`. */
function dateName(timeMs: number): string {
  return new Date(timeMs).toISOString().slice(0, 19).replaceAll(/[-:]/g, '').replace('T', '_');
}
