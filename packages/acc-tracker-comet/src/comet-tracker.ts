import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { join, resolve } from 'node:path';
import {
  withLifecycle,
  type RunInfo,
  type RunStatus,
  type Stamp,
  type TrackedArtifact,
  type Tracker,
} from '@acc/contract';
import { metricMessages, otherMessage, outputMessage, parameterMessages, uploadMessage } from './messages.js';
import { OfflineFolder } from './offline-folder.js';
import { resolveOptions, type CometOptions } from './options.js';

/** The `client` of the tracker. */
export interface CometHandle {
  /** The key of the experiment in Comet. */
  readonly experimentKey: string;
  /** The archive, which exists when the run has ended. */
  readonly archive: string;
  readonly uploadCommand: string;
}

/**
 * Writes runs as archives of Comet's offline experiments, which the program `comet upload` of
 * `comet_ml` sends. Logged data is on disk at once, and the training never waits for the network.
 * The command that uploads the run is printed at its end.
 *
 * @throws AccError `ACC_UNKNOWN_OPTION`, `ACC_INVALID_OPTION`.
 */
export function cometTracker(options: CometOptions = {}): Tracker {
  const recorder = new CometRecorder(resolveOptions(options));
  return withLifecycle<Tracker>({
    name: 'comet',
    get client() {
      return recorder.handle;
    },
    start: (run) => Promise.resolve(recorder.begin(run)),
    resume: (run) => Promise.resolve(recorder.goOn(run)),
    log: (step, metrics, { timeMs, sequence }) =>
      recorder.folder.add(metricMessages([{ step, metrics, timeMs, sequence }])),
    logBatch: (rows) => recorder.folder.add(metricMessages(rows)),
    logConfig: (config, { timeMs }) => recorder.folder.add(parameterMessages(config, timeMs)),
    logText: (_step, key, text, { timeMs }) =>
      recorder.folder.add([outputMessage(`${key}: ${text}`, timeMs)]),
    logImage: (step, key, { png }, stamp) => recorder.addImage(step, key, png, stamp),
    logArtifact: (step, artifact, stamp) => recorder.addArtifact(step, artifact, stamp),
    finish: (status) => recorder.finish(status),
  });
}

class CometRecorder {
  readonly #options: CometOptions;
  folder!: OfflineFolder;
  #archive: string | undefined;
  #closing: Promise<void> | undefined;

  constructor(options: CometOptions) {
    this.#options = options;
  }

  get handle(): CometHandle | undefined {
    if (this.#archive === undefined) return undefined;
    const experimentKey = this.folder.experiment.offline_id;
    return { experimentKey, archive: this.#archive, uploadCommand: `comet upload ${quoted(this.#archive)}` };
  }

  begin(run: RunInfo): void {
    this.#open(run, 'create');
    this.folder.add([otherMessage('Name', run.name)]);
  }

  /** Continues the archive of a process that was killed. Otherwise, begins one that adds to the experiment. */
  goOn(run: RunInfo): void {
    const found = OfflineFolder.goOn(openFolder(run));
    if (!found) return this.#open(run, 'get');
    this.folder = found;
    this.#archive = this.#freeArchive(run);
  }

  addImage(step: number, key: string, png: Uint8Array, { timeMs, sequence }: Stamp): void {
    const stored = `image-${sequence}.png`;
    this.folder.addBytes(stored, png);
    const parameters = { figName: key, imageId: this.#fileId(stored), extension: 'png' };
    this.folder.add([uploadMessage({ kind: 'visualization', stored, step, timeMs, parameters })]);
  }

  async addArtifact(
    step: number,
    { name, type, files }: TrackedArtifact,
    { timeMs, sequence, signal }: Stamp,
  ): Promise<void> {
    const messages: object[] = [];
    for (const [i, file] of files.entries()) {
      signal.throwIfAborted();
      const stored = `file-${sequence}-${i}`;
      await this.folder.addFile(stored, file.path);
      const kind = type === 'model' ? 'model-element' : 'asset';
      const parameters = {
        fileName: `${name}/${file.name}`,
        assetId: this.#fileId(stored),
        ...(kind === 'model-element' && { groupingName: name, type: kind }),
      };
      messages.push(uploadMessage({ kind, stored, step, timeMs, parameters }));
    }
    // A call that took too long is repeated, and only the repeated one adds the messages.
    signal.throwIfAborted();
    this.folder.add(messages);
  }

  /** A call that took too long is repeated, while the archive is still being written. */
  finish(status: RunStatus): Promise<void> {
    this.#closing ??= this.#close(status).catch((error: unknown) => {
      this.#closing = undefined;
      throw error;
    });
    return this.#closing;
  }

  async #close(status: RunStatus): Promise<void> {
    const failure = status === 'completed' ? null : status;
    await this.folder.close(this.#archive!, {
      stop_time: Date.now(),
      customer_error_reported: failure !== null,
      customer_error_message: failure,
    });
    console.log(`comet: the run is in an archive. To upload it: ${this.handle!.uploadCommand}`);
  }

  /** Comet's id of a file in the archive. */
  #fileId(stored: string): string {
    return keyOf(`${this.folder.experiment.offline_id} ${stored}`);
  }

  #open(run: RunInfo, strategy: 'create' | 'get'): void {
    const { project = run.project, workspace = null } = this.#options;
    this.folder = OfflineFolder.begin(openFolder(run), {
      offline_id: keyOf(run.id),
      project_name: project,
      workspace,
      tags: Object.entries(run.tags).map(([key, value]) => (value === '' ? key : `${key}:${value}`)),
      start_time: run.startTimeMs,
      stop_time: run.startTimeMs,
      resume_strategy: strategy,
      customer_error_reported: false,
      customer_error_message: null,
    });
    this.#archive = this.#freeArchive(run);
  }

  /** A resumed run has a further archive. */
  #freeArchive(run: RunInfo): string {
    const { dir = join(run.dir, 'comet') } = this.#options;
    const named = (more: string) => resolve(dir, `${keyOf(run.id)}${more}.zip`);
    let path = named('');
    for (let i = 2; existsSync(path); i++) path = named(`-${i}`);
    return path;
  }
}

/** The folder of the archive's content during the run. */
function openFolder({ dir }: RunInfo): string {
  return join(dir, 'comet', 'open');
}

/** A path as one word of a shell. */
function quoted(path: string): string {
  return /^[\w@%+=:,./\\-]+$/.test(path) ? path : `"${path}"`;
}

/** Keys of Comet are 32 letters and digits. */
function keyOf(text: string): string {
  return createHash('sha256').update(text).digest('hex').slice(0, 32);
}
