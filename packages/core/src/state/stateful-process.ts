import type { Stateful } from '@acc/contract';
import type { LaunchEnvironment } from '../environment.js';
import { TrackedRole, type Tracking } from '../tracking/tracked-role.js';
import type { LoadStateOptions, RestoredRun, RunCheckpoints, SaveStateOptions } from './run-checkpoints.js';

/** A process whose run can be saved, and gone on with. */
export abstract class StatefulProcess extends TrackedRole {
  readonly #checkpoints: RunCheckpoints;
  readonly #atBoundary: () => Promise<void>;

  constructor(
    environment: LaunchEnvironment,
    tracking: Tracking,
    parts: { readonly checkpoints: RunCheckpoints; readonly atBoundary: () => Promise<void> },
  ) {
    super(environment, tracking);
    this.#checkpoints = parts.checkpoints;
    this.#atBoundary = parts.atBoundary;
  }

  /**
   * Saves everything that the run is: weights, optimizers, schedules, loss scale, an unfinished window of accumulation, random
   * states, the position in prepared data and in `fit`, plugins, and what {@link registerForCheckpointing} was given. Every rank
   * calls it, between steps; each writes its part. It is complete or not there at all.
   *
   * @param path A folder, or keys in `checkpoint.storage`; what is there is replaced. Default: a name of its own in `checkpoint.dir`.
   * @returns Where it is; undefined where it failed and `checkpoint.onError` is `warn`.
   * @throws AccError `ACC_CHECKPOINT_SAVE_FAILED`, on all ranks alike, also for an async save before this one; `ACC_STATE_INVALID`,
   * `ACC_UNKNOWN_OPTION`.
   */
  saveState(path?: string, options: SaveStateOptions = {}): Promise<string | undefined> {
    return this.#checkpoints.save(path, options);
  }

  /**
   * Goes on from a checkpoint, made by as many ranks or not. To be called after `prepare` and `registerForCheckpointing`, with the
   * same objects in the same order as when it was saved; prepared data then begins, and `fit` goes on, where it was. All of it is
   * read and verified before anything is changed.
   *
   * @param path Where it is; `latest`, the default, is the newest complete one in `checkpoint.dir`.
   * @throws AccError `ACC_CHECKPOINT_NOT_FOUND`, `ACC_CHECKPOINT_CORRUPT`, `ACC_CHECKPOINT_MISMATCH`, `ACC_CHECKPOINT_VERSION`.
   */
  loadState(path?: string, options?: LoadStateOptions & { ifPresent?: false }): Promise<RestoredRun>;
  loadState(path: string | undefined, options: LoadStateOptions): Promise<RestoredRun | undefined>;
  loadState(path = 'latest', options: LoadStateOptions = {}): Promise<RestoredRun | undefined> {
    return this.#checkpoints.load(path, options);
  }

  /**
   * Has checkpoints keep the state of objects with `getState()` and `setState(state)`, on each rank its own.
   *
   * @throws AccError `ACC_INVALID_ARGUMENT`.
   */
  registerForCheckpointing(...objects: readonly Stateful[]): void {
    this.#checkpoints.register(objects);
  }

  /** Resolves when an async save is complete. Every rank calls it. @throws AccError `ACC_CHECKPOINT_SAVE_FAILED`. */
  waitForCheckpoint(): Promise<void> {
    return this.#checkpoints.settle();
  }

  /**
   * For loops without prepared data, between steps: where the job was asked to end, saves and exits, as others do by themselves.
   */
  checkPreemption(): Promise<void> {
    return this.#atBoundary();
  }
}
