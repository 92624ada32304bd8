import { isAccError, type Collective, type StateLayer, type Storage } from '@acc/contract';
import { describeLocation, locationOf, type Location } from './location.js';
import { onFirstRank } from './together.js';
import { isOurs, isStepName, nameOfStep } from './names.js';
import type { ResolvedCheckpointOptions } from './options.js';
import { findCheckpoints, freeName, type Unreadable } from './read/find.js';
import { openCheckpoint, type Checkpoint } from './read/open.js';
import { expendable, newestFirst } from './retention.js';
import { fileStorage } from './storage/file-storage.js';
import { settleSave } from './write/settle.js';
import { startSave, type SaveRequest, type StartedSave } from './write/save.js';

export interface CheckpointsParts {
  readonly options: ResolvedCheckpointOptions;
  readonly layer: StateLayer;
  readonly collective: Collective;
}

const DEFAULT_FOLDER = 'checkpoints';

/** A run's checkpoints: saves them one after the other, finds them, and deletes those that need not be kept. */
export class Checkpoints {
  readonly #parts: CheckpointsParts;
  /** Of checkpoints that are named here. */
  readonly #storage: Storage;
  #pending: StartedSave | undefined;
  /** Names that are not deleted: the one that the run goes on from. */
  readonly #inUse = new Set<string>();
  /** Names of those that can't be read, once it was said. */
  readonly #told = new Set<string>();

  constructor(parts: CheckpointsParts) {
    this.#parts = parts;
    this.#storage = parts.options.storage ?? fileStorage(parts.options.dir ?? DEFAULT_FOLDER);
  }

  /**
   * Saves; every rank calls it. The one before is waited for. With `isAsync` it resolves as soon as the state may change again.
   *
   * @param path Where; default: a name of its own, by the step.
   * @returns Where it is, for people; undefined where it failed and `onError` is `warn`.
   * @throws AccError `ACC_CHECKPOINT_SAVE_FAILED` (also of the save before, where that was async), `ACC_STATE_INVALID`.
   */
  async save(path: string | undefined, request: SaveRequest, isAsync: boolean): Promise<string | undefined> {
    const isBeforeGood = await this.#settle();
    const location =
      path === undefined
        ? { storage: this.#storage, prefix: `${await this.#nameOf(request.info.step)}/` }
        : locationOf(path, this.#parts.options.storage);
    this.#pending = startSave(location, request, this.#parts);
    const isGood = isAsync ? isBeforeGood : await this.#settle();
    return isGood ? describeLocation(location) : undefined;
  }

  /** Waits for a save that goes on behind. Every rank calls it. @throws AccError `ACC_CHECKPOINT_SAVE_FAILED`. */
  async settle(): Promise<void> {
    await this.#settle();
  }

  /** Opens the checkpoint at a place. @throws AccError as {@link openCheckpoint}. */
  open(path: string): Promise<Checkpoint> {
    return openCheckpoint(locationOf(path, this.#parts.options.storage));
  }

  /** Opens one that was named here. @throws AccError as {@link openCheckpoint}. */
  openNamed(name: string): Promise<Checkpoint> {
    return openCheckpoint({ storage: this.#storage, prefix: `${name}/` });
  }

  /**
   * The name of the newest complete checkpoint that has not been tried; undefined where there is none. Every rank calls it, and
   * all get the same. Those that can't be read are passed over with a warning.
   *
   * @throws AccError of the storage; `ACC_CHECKPOINT_VERSION`, `ACC_CHECKPOINT_INVALID`, `ACC_CHECKPOINT_CORRUPT` where there are only
   * such: a run must not begin anew beside its checkpoints.
   */
  newest(tried: ReadonlySet<string>): Promise<string | undefined> {
    // Others might see a later one.
    return onFirstRank(this.#parts.collective, async () => {
      const { complete, unreadable } = await findCheckpoints(this.#storage);
      const own = unreadable.find(({ name }) => isStepName(name));
      if (own && complete.length === 0) throw own.problem;
      this.#tell(unreadable);
      return newestFirst(complete).find(({ name }) => !tried.has(name))?.name;
    });
  }

  /** For messages: where checkpoints that are named here lie. */
  get place(): string {
    return this.#storage.location;
  }

  /** From now on the run goes on from the checkpoint of that name, which stays. */
  use(name: string): void {
    this.#inUse.clear();
    this.#inUse.add(name);
  }

  /** On all ranks the same. Where the storage cannot be listed, a name that no other save has, with a warning. */
  #nameOf(step: number): Promise<string> {
    return onFirstRank(this.#parts.collective, async () => {
      try {
        return await freeName(this.#storage, step);
      } catch (error) {
        const name = nameOfStep(step, Date.now());
        const reason = error instanceof Error ? error.message : String(error);
        console.warn(
          `acc: ${this.place} could not be listed before a save: ${reason} The checkpoint is named ${name}, so that it replaces no other.`,
        );
        return name;
      }
    });
  }

  #tell(unreadable: readonly Unreadable[]): void {
    for (const { name, problem } of unreadable) {
      if (!this.#told.has(name)) console.warn(`acc: ${problem.code}: ${problem.message} It is passed over.`);
      this.#told.add(name);
    }
  }

  async #settle(): Promise<boolean> {
    const save = this.#pending;
    this.#pending = undefined;
    if (!save) return true;
    const { options, collective } = this.#parts;
    try {
      await settleSave(save, collective);
    } catch (error) {
      if (options.onError === 'throw' || !isAccError(error)) throw error;
      if (collective.rank === 0) console.warn(`acc: ${error.code}: ${error.message}`);
      return false;
    }
    await this.#tidy(save.location);
    return true;
  }

  /** Deletes what need not be kept, on rank 0. What can't be deleted is no reason to stop. */
  async #tidy({ storage, prefix }: Location): Promise<void> {
    const { options, collective } = this.#parts;
    if (collective.rank > 0 || storage !== this.#storage || !isStepName(prefix.slice(0, -1))) return;
    try {
      const { complete, incomplete } = await findCheckpoints(storage);
      const own = complete.filter(({ name }) => isStepName(name));
      const gone = [...expendable(own, options), ...incomplete.filter(isStepName)];
      for (const name of gone) if (!this.#inUse.has(name)) await deleteCheckpoint(storage, name);
    } catch (error) {
      console.warn(`acc: old checkpoints could not be deleted. ${(error as Error).message}`);
    }
  }
}

/** The marker goes first, so that what is left of a deletion that was cut off is no checkpoint. */
async function deleteCheckpoint(storage: Storage, name: string): Promise<void> {
  const keys = (await storage.list(`${name}/`)).map(({ key }) => key);
  const ours = keys.filter((key) => isOurs(key.slice(name.length + 1)));
  const markers = ours.filter((key) => key.endsWith('/checkpoint.json'));
  await storage.delete(markers);
  await storage.delete(ours.filter((key) => !markers.includes(key)));
}
