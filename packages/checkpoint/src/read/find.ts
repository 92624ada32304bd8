import { isAccError, type AccError, type Storage } from '@acc/contract';
import { MARKER, parseMarker } from '../format/manifest.js';
import { nameOfStep } from '../names.js';
import type { SavedCheckpoint } from '../retention.js';
import { corrupt } from './open.js';

/** The checkpoints in a storage, by the state of their markers. */
export interface Found {
  readonly complete: readonly SavedCheckpoint[];
  /** Names of folders without a marker: a save began in them and has not ended. */
  readonly incomplete: readonly string[];
  readonly unreadable: readonly Unreadable[];
}

/**
 * A checkpoint that this version cannot read. Another version or a person may be able to, so it is
 * not deleted.
 */
export interface Unreadable {
  readonly name: string;
  readonly problem: AccError;
}

/** Looks for checkpoints one level below the root of a storage. */
export async function findCheckpoints(storage: Storage): Promise<Found> {
  const keys = await keysBelow(storage, '');
  const names = new Set(
    Array.from(keys).flatMap((key) => (key.includes('/') ? key.slice(0, key.indexOf('/')) : [])),
  );
  const folders = await Promise.all(Array.from(names, (name) => lookInto(storage, name, keys)));
  return {
    complete: folders.filter((folder) => 'marker' in folder),
    incomplete: folders
      .filter((folder) => !('marker' in folder || 'problem' in folder))
      .map(({ name }) => name),
    unreadable: folders.filter((folder) => 'problem' in folder),
  };
}

/** The first name for a checkpoint of this step that no unreadable checkpoint has. */
export async function freeName(storage: Storage, step: number): Promise<string> {
  for (let turn = 1; ; turn++) {
    const name = nameOfStep(step, turn);
    const folder = await lookInto(storage, name, await keysBelow(storage, `${name}/`));
    if (!('problem' in folder)) return name;
  }
}

async function keysBelow(storage: Storage, prefix: string): Promise<ReadonlySet<string>> {
  return new Set((await storage.list(prefix)).map(({ key }) => key));
}

type Folder = SavedCheckpoint | Unreadable | { readonly name: string };

async function lookInto(storage: Storage, name: string, keys: ReadonlySet<string>): Promise<Folder> {
  const key = `${name}/${MARKER}`;
  if (!keys.has(key)) return { name };
  try {
    const marker = parseMarker(await storage.get(key), `${storage.location}/${key}`);
    if (keys.has(`${name}/${marker.index.name}`)) return { name, marker };
    return { name, problem: corrupt({ storage, prefix: `${name}/` }, marker.index.name, 'it is missing') };
  } catch (error) {
    // The folder was deleted after the list was made.
    if (isAccError(error, 'ACC_STORAGE_NOT_FOUND')) return { name };
    const isUnreadable =
      isAccError(error, 'ACC_CHECKPOINT_INVALID') || isAccError(error, 'ACC_CHECKPOINT_VERSION');
    if (isUnreadable) return { name, problem: error };
    throw error;
  }
}
