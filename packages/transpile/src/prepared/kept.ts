import { statSync, utimesSync } from 'node:fs';
import { scriptOf, type PreparedSet } from './set.js';

/** Whether the script is there. Processes compare its content, and remove it if it is damaged. */
export function isThere({ folder, script }: PreparedSet): boolean {
  const size = statSync(script ? scriptOf(folder) : folder, { throwIfNoEntry: false })?.size;
  return size !== undefined && (!script || size === script.bytes);
}

/** Updates the times of used files, so that they are not removed. */
export function touch(paths: readonly string[]): void {
  const now = new Date();
  for (const path of paths) {
    try {
      utimesSync(path, now, now);
    } catch {
      // A cache that is not writable is not cleaned either.
    }
  }
}
