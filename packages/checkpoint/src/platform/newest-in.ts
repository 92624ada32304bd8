import { existsSync } from 'node:fs';
import { opendir } from 'node:fs/promises';
import { isAbsolute, join } from 'node:path';
import { MARKER } from '../format/manifest.js';
import { describeLocation, type Location } from '../location.js';

/** A folder with more entries is not searched: it may be a home folder, or one of a data set. */
const MOST_ENTRIES = 1000;

/**
 * The complete checkpoint one level below a location whose name has the highest number. Undefined if
 * there is none, and if the location is no folder of this machine or cannot be read.
 */
export async function newestIn(location: Location): Promise<string | undefined> {
  const folder = describeLocation(location);
  if (!isAbsolute(folder)) return undefined;
  const names: string[] = [];
  let seen = 0;
  try {
    for await (const entry of await opendir(folder)) {
      if (++seen > MOST_ENTRIES) return undefined;
      if (entry.isDirectory() && existsSync(join(folder, entry.name, MARKER))) names.push(entry.name);
    }
  } catch {
    return undefined;
  }
  // Creating it takes 20 ms in a process, so it is created only here.
  const inOrder = new Intl.Collator('en', { numeric: true });
  return names.sort(inOrder.compare).at(-1);
}
