import { storageAt } from '#platform/storages';
import { reportAtEnd, wasAsked } from '#platform/unasked';
import { isAccError, withoutHelp, type Collective, type StateLayer, type Storage } from '@acc/contract';
import { describeLocation, locationOf, type Location } from './location.js';
import { onFirstRank } from './together.js';
import { isOurs, isStepName, nameOfStep } from './names.js';
import type { ResolvedCheckpointOptions } from './options.js';
import { findCheckpoints, freeName, type Unreadable } from './read/find.js';
import { openCheckpoint, type Checkpoint } from './read/open.js';
import { expendable, newestFirst } from './retention.js';
import { settleSave } from './write/settle.js';
import { startSave, type SaveRequest, type StartedSave } from './write/save.js';

export interface CheckpointsContext {
  readonly options: ResolvedCheckpointOptions;
  readonly layer: StateLayer;
  readonly collective: Collective;
}

const DEFAULT_FOLDER = 'checkpoints';

/**
 * The checkpoints of a run. Saves them one after the other, finds them, and deletes those that the
 * retention options do not keep.
 */
export class Checkpoints {
  readonly #context: CheckpointsContext;
  /** The storage of the checkpoints that this object names. */
  readonly #storage: Storage;
  #pending: StartedSave | undefined;
  /** Names that are never deleted: the checkpoint that the run resumed from. */
  readonly #inUse = new Set<string>();
  /** Names of unreadable checkpoints that a warning has already reported. */
  readonly #told = new Set<string>();

  constructor(context: CheckpointsContext) {
    this.#context = context;
    this.#storage = context.options.storage ?? storageAt(context.options.dir ?? DEFAULT_FOLDER);
  }

  /**
   * Saves a checkpoint. Every rank calls it. It waits for the previous save first. With `isAsync`
   * the promise resolves as soon as the state may change again.
   *
   * @param path The location. Default: a new name, made from the step.
   * @returns The location as text for messages. Undefined if the save failed and `onError` is
   * `warn`.
   * @throws AccError `ACC_CHECKPOINT_SAVE_FAILED` (also for the previous save, if that was async),
   * `ACC_STATE_INVALID`.
   */
  async save(path: string | undefined, request: SaveRequest, isAsync: boolean): Promise<string | undefined> {
    const isBeforeGood = await this.#settle();
    const location =
      path === undefined
        ? { storage: this.#storage, prefix: `${await this.#nameOf(request.info.step)}/` }
        : locationOf(path, this.#context.options.storage);
    this.#pending = startSave(location, request, this.#context);
    if (isAsync) reportAtEnd(this.#pending, this.#context.collective.rank);
    const isGood = isAsync ? isBeforeGood : await this.#settle();
    return isGood ? describeLocation(location) : undefined;
  }

  /**
   * Waits for a save that runs in the background. Every rank calls it.
   *
   * @throws AccError `ACC_CHECKPOINT_SAVE_FAILED`.
   */
  async settle(): Promise<void> {
    await this.#settle();
  }

  /** Opens the checkpoint at a path. @throws AccError as {@link openCheckpoint}. */
  open(path: string): Promise<Checkpoint> {
    return openCheckpoint(locationOf(path, this.#context.options.storage));
  }

  /** Opens a checkpoint that this object named. @throws AccError as {@link openCheckpoint}. */
  openNamed(name: string): Promise<Checkpoint> {
    return openCheckpoint({ storage: this.#storage, prefix: `${name}/` });
  }

  /**
   * Returns the name of the newest complete checkpoint that is not in `tried`, or undefined if
   * there is none. Every rank calls it, and all ranks get the same name. Unreadable checkpoints are
   * skipped with a warning.
   *
   * @throws AccError of the storage. `ACC_CHECKPOINT_VERSION`, `ACC_CHECKPOINT_INVALID` or
   * `ACC_CHECKPOINT_CORRUPT` if every checkpoint is unreadable: a run must not start from step 0
   * beside its own checkpoints.
   */
  async newest(tried: ReadonlySet<string>): Promise<string | undefined> {
    return (await this.newestSaved(tried))?.name;
  }

  /** As {@link newest}, with the number of optimizer steps before the checkpoint. */
  newestSaved(
    tried: ReadonlySet<string>,
  ): Promise<{ readonly name: string; readonly step: number } | undefined> {
    // Only rank 0 looks: other ranks might see a newer checkpoint.
    return onFirstRank(this.#context.collective, 'loadState()', async () => {
      const { complete, unreadable } = await findCheckpoints(this.#storage);
      const local = unreadable.find(({ name }) => isStepName(name));
      if (local && complete.length === 0) throw local.problem;
      this.#tell(unreadable);
      const newest = newestFirst(complete).find(({ name }) => !tried.has(name));
      return newest && { name: newest.name, step: newest.marker.step };
    });
  }

  /** The location of the checkpoints that this object names, for messages. */
  get place(): string {
    return this.#storage.location;
  }

  /** Protects the checkpoint of that name from deletion: the run resumes from it. */
  use(name: string): void {
    this.#inUse.clear();
    this.#inUse.add(name);
  }

  /**
   * Returns the same name on all ranks. If the storage cannot be listed, warns and returns a name
   * with a time stamp, which no other save has.
   */
  #nameOf(step: number): Promise<string> {
    return onFirstRank(this.#context.collective, 'saveState()', async () => {
      try {
        return await freeName(this.#storage, step);
      } catch (error) {
        const name = nameOfStep(step, Date.now());
        const reason = error instanceof Error ? error.message : String(error);
        console.warn(
          `acc: ${this.place} could not be listed before a save: ${reason} The checkpoint is named ${name}, so that it does not replace another one.`,
        );
        return name;
      }
    });
  }

  #tell(unreadable: readonly Unreadable[]): void {
    for (const { name, problem } of unreadable) {
      if (!this.#told.has(name))
        console.warn(`acc: ${problem.code}: ${withoutHelp(problem.message)} This checkpoint is skipped.`);
      this.#told.add(name);
    }
  }

  async #settle(): Promise<boolean> {
    const save = this.#pending;
    this.#pending = undefined;
    if (!save) return true;
    const { options, collective } = this.#context;
    try {
      await settleSave(save, collective, options.onError);
      wasAsked(save);
    } catch (error) {
      if (isAccError(error, 'ACC_CHECKPOINT_SAVE_FAILED')) wasAsked(save);
      if (options.onError === 'throw' || !isAccError(error)) throw error;
      if (collective.rank === 0) console.warn(`acc: ${error.code}: ${error.message}`);
      return false;
    }
    await this.#tidy(save.location);
    return true;
  }

  /**
   * Deletes checkpoints that need not be kept, on rank 0. A failed deletion only causes a warning.
   */
  async #tidy({ storage, prefix }: Location): Promise<void> {
    const { options, collective } = this.#context;
    if (collective.rank > 0 || storage !== this.#storage || !isStepName(prefix.slice(0, -1))) return;
    try {
      const { complete, incomplete } = await findCheckpoints(storage);
      const local = complete.filter(({ name }) => isStepName(name));
      const gone = [...expendable(local, options), ...incomplete.filter(isStepName)];
      for (const name of gone) if (!this.#inUse.has(name)) await deleteCheckpoint(storage, name);
    } catch (error) {
      console.warn(`acc: old checkpoints could not be deleted. ${(error as Error).message}`);
    }
  }
}

/**
 * Deletes the marker first, so that an interrupted deletion does not leave a checkpoint that looks
 * complete.
 */
async function deleteCheckpoint(storage: Storage, name: string): Promise<void> {
  const keys = (await storage.list(`${name}/`)).map(({ key }) => key);
  const ours = keys.filter((key) => isOurs(key.slice(name.length + 1)));
  const markers = ours.filter((key) => key.endsWith('/checkpoint.json'));
  await storage.delete(markers);
  await storage.delete(ours.filter((key) => !markers.includes(key)));
}
