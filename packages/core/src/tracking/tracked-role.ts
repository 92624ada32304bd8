import type { RunConfig, RunStatus, Tracker } from '@acc/contract';
import {
  identifyRun,
  type TrackerBus,
  type ArtifactOptions,
  type HistogramInput,
  type HistogramOptions,
  type ImageInputs,
  type LogOptions,
  type MetricValues,
  type RunOptions,
  type TableInput,
} from '@acc/tracker';
import type { LaunchEnvironment } from '../environment.js';
import type { ResolvedOptions } from '../options.js';
import { trackersOf } from '../presets/trackers.js';
import { ProcessRole } from '../process-role.js';

export interface Tracking {
  readonly bus: TrackerBus;
  readonly options: Pick<ResolvedOptions, 'logWith' | 'projectDir'>;
}

/** A process that logs to the trackers of its job. */
export abstract class TrackedRole extends ProcessRole {
  readonly #bus: TrackerBus;
  readonly #options: Pick<ResolvedOptions, 'logWith' | 'projectDir'>;

  constructor(environment: LaunchEnvironment, { bus, options }: Tracking) {
    super(environment);
    this.#bus = bus;
    this.#options = options;
  }

  /**
   * Begins a run and starts the trackers of `logWith`. Every rank calls it; trackers run on the main process, but for those
   * that ask for all. A tracker that can't be reached goes on trying: what is logged meanwhile is kept.
   *
   * @param config Hyperparameters.
   * @param perTracker Options of the trackers that `logWith` names, by those names.
   * @param run The run's name and tags, or the earlier run to go on with.
   * @throws AccError `ACC_NO_TRACKERS`, `ACC_TRACKER_MISSING`, `ACC_TRACKER_INVALID`, `ACC_TRACKER_START`, `ACC_TRACKER_CANNOT`,
   * `ACC_TRACKER_DUPLICATE`, `ACC_TRACKERS_RUNNING`, `ACC_RUN_MISSING`, `ACC_PROJECT_DIR`, `ACC_UNKNOWN_OPTION`, `ACC_INVALID_ARGUMENT`.
   */
  async initTrackers(
    project: string,
    config: RunConfig = {},
    perTracker: Readonly<Record<string, object>> = {},
    run: RunOptions = {},
  ): Promise<void> {
    const { projectDir } = this.#options;
    const trackers = await trackersOf(this.#options, perTracker);
    const { loaded } = this.#bus;
    const own = this.isMainProcess ? identifyRun(project, run, { projectDir, loaded }) : undefined;
    const identity = this.broadcastObject(own)!;
    await this.#bus.start({ identity, config, projectDir, trackers });
  }

  /**
   * Gives numbers to all trackers. Returns at once: trackers get them later, in order. Scalar tensors are read, which waits
   * for the device. Every rank may call it.
   *
   * @throws AccError `ACC_TRACKERS_NOT_STARTED`, `ACC_TRACKERS_FINISHED`, `ACC_INVALID_ARGUMENT`, `ACC_UNKNOWN_OPTION`, as do the others.
   */
  log(values: MetricValues, options?: LogOptions): void {
    this.#bus.log(values, options);
  }

  /**
   * Logs images: tensors `[height, width]`, `[height, width, channels]` or `[n, height, width, channels]`, floats from 0 to 1 or
   * integers from 0 to 255; pixels as of a canvas; PNG files.
   *
   * @throws AccError also `ACC_TRACKER_CANNOT` where no tracker takes them, as do the others.
   */
  logImages(images: ImageInputs, options?: LogOptions): void {
    this.#bus.logImages(images, options);
  }

  /** Logs how values are distributed: of tensors, weights or gradients say, which stay the caller's, or arrays. */
  logHistogram(values: Readonly<Record<string, HistogramInput>>, options?: HistogramOptions): void {
    this.#bus.logHistogram(values, options);
  }

  /** Logs a table: columns and rows, or a list of records. */
  logTable(key: string, table: TableInput, options?: LogOptions): void {
    this.#bus.logTable(key, table, options);
  }

  logText(texts: Readonly<Record<string, string>>, options?: LogOptions): void {
    this.#bus.logText(texts, options);
  }

  /**
   * Logs a file or a folder, a model or a checkpoint say. It is read when a tracker stores it: leave it where it is until then.
   *
   * @throws AccError also `ACC_ARTIFACT_MISSING`.
   */
  logArtifact(name: string, path: string, options?: ArtifactOptions): void {
    this.#bus.logArtifact(name, path, options);
  }

  /**
   * A tracker of the run by its name; undefined on ranks where it doesn't run.
   *
   * @throws AccError `ACC_TRACKERS_NOT_STARTED`, `ACC_TRACKER_UNKNOWN`.
   */
  getTracker(name: string): Tracker | undefined {
    return this.#bus.getTracker(name);
  }

  abstract broadcastObject<T>(object: T, fromProcess?: number): T;

  /** Gives trackers what is left for them, and the run its end. */
  protected finishTrackers(status: RunStatus): Promise<void> {
    return this.#bus.finish(status);
  }
}
