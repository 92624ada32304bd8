import { readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

const DAY_MS = 24 * 3600 * 1000;
/** Node.js compiles a module again if its code is not there. */
const KEPT_DAYS = 30;
/** The time of this file tells when old code was last removed. */
const MARK = '.pruned';

/**
 * Removes compiled code that was written more than 30 days ago, which may be that of modules and
 * versions of Node.js that are no longer there. Does so once a day.
 *
 * @param folder See `compileCacheFolder`.
 */
export function pruneCompiled(folder: string | undefined): void {
  if (folder === undefined) return;
  try {
    if (Date.now() - writtenAt(join(folder, MARK)) < DAY_MS) return;
    writeFileSync(join(folder, MARK), '');
    const oldest = Date.now() - KEPT_DAYS * DAY_MS;
    for (const entry of readdirSync(folder, { recursive: true, withFileTypes: true })) {
      const path = join(entry.parentPath, entry.name);
      if (entry.isFile() && writtenAt(path) < oldest) rmSync(path, { force: true });
    }
  } catch (error) {
    // Code that cannot be removed takes room on the disk, and has no other effect.
    if (!(error as NodeJS.ErrnoException).syscall) throw error;
  }
}

/** In milliseconds. 0 if there is no such file. */
function writtenAt(path: string): number {
  return statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? 0;
}
