import { isAccError, type Storage } from '@acc/contract';
import { MARKER, parseMarker } from '../format/manifest.js';
import type { SavedCheckpoint } from '../retention.js';

/** Checkpoints below a place, by whether they are complete. */
export interface Found {
  readonly complete: readonly SavedCheckpoint[];
  /** Names of folders in which a save has begun and not ended, or whose marker can't be read. */
  readonly incomplete: readonly string[];
}

/** Looks one level below a storage's root. */
export async function findCheckpoints(storage: Storage): Promise<Found> {
  const objects = await storage.list('');
  const names = new Set(
    objects.flatMap(({ key }) => (key.includes('/') ? key.slice(0, key.indexOf('/')) : [])),
  );
  const keys = new Set(objects.map(({ key }) => key));
  const complete: SavedCheckpoint[] = [];
  const incomplete: string[] = [];
  await Promise.all(
    Array.from(names, async (name) => {
      const marker = keys.has(`${name}/${MARKER}`) ? await readMarker(storage, `${name}/`) : undefined;
      if (marker && keys.has(`${name}/${marker.index.name}`)) complete.push({ name, marker });
      else incomplete.push(name);
    }),
  );
  return { complete, incomplete };
}

async function readMarker(storage: Storage, prefix: string) {
  const key = prefix + MARKER;
  try {
    return parseMarker(await storage.get(key), `${storage.location}/${key}`);
  } catch (error) {
    // Deleted since the list was made, or no marker of this format.
    const codes = ['ACC_STORAGE_NOT_FOUND', 'ACC_CHECKPOINT_INVALID', 'ACC_CHECKPOINT_VERSION'];
    if (isAccError(error) && codes.includes(error.code)) return undefined;
    throw error;
  }
}
