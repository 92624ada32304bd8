import { readdirSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';

/** Sets and notes that were not used for this long are removed. In milliseconds. */
const KEPT_MS = 30 * 24 * 3600 * 1000;
/** Of sets, about 10 MiB each, and of notes. */
const MOST = 50;

/** Removes what was used least recently. */
export function removeOldSets(folder: string): void {
  const found = readdirSync(folder).map((name) => {
    const path = join(folder, name);
    const stat = statSync(path, { throwIfNoEntry: false });
    return { path, isFolder: stat?.isDirectory() ?? false, usedAt: stat?.mtimeMs ?? 0 };
  });
  const newestFirst = found.sort((a, b) => b.usedAt - a.usedAt);
  for (const isFolder of [true, false]) {
    newestFirst
      .filter((each) => each.isFolder === isFolder)
      .filter(({ usedAt }, index) => index >= MOST || Date.now() - usedAt > KEPT_MS)
      .forEach(({ path }) => rmSync(path, { recursive: true, force: true }));
  }
}
