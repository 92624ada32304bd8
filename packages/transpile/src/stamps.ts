import { statSync } from 'node:fs';

/**
 * The size, inode and time of each file that something depends on. Null for a path at which there
 * must be no file.
 */
export type Stamps = Readonly<Record<string, string | null>>;

/**
 * The stamps of files. Undefined if one has changed since `startedAt`, because its old content may
 * have been read.
 *
 * @param startedAt Milliseconds since 1970, taken before the first file was read.
 */
export function stampsOf(paths: Iterable<string>, startedAt: number): Stamps | undefined {
  const all = [...new Set(paths)];
  // File system clocks may be some milliseconds late.
  if (all.some((path) => changedAt(path) > startedAt - 100)) return undefined;
  return Object.fromEntries(all.map((path) => [path, stampOf(path)]));
}

export function isUnchanged(stamps: Stamps): boolean {
  return Object.entries(stamps).every(([path, stamp]) => stampOf(path) === stamp);
}

function stampOf(path: string): string | null {
  const stat = statOf(path);
  if (!stat) return null;
  // For a folder only its existence matters.
  return stat.isDirectory() ? 'folder' : `${stat.size} ${stat.ino} ${stat.mtimeMs}`;
}

function changedAt(path: string): number {
  const stat = statOf(path);
  return stat?.isFile() ? stat.mtimeMs : 0;
}

const statOf = (path: string) => statSync(path, { throwIfNoEntry: false });
