import { randomBytes } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, renameSync, rmSync } from 'node:fs';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { asDiskError, asReadError, makeCacheFolder } from './disk.js';

/**
 * Names of unfinished files in the cache end with `~host~pid`. Several hosts may share the cache.
 * Only a process on the owner's host can know that the owner has ended, and may take over or remove
 * its files.
 */
const OWNER = `~${hostname().replaceAll('~', '-')}~`;

/** A folder of this process next to the destination. It is renamed to the destination. */
export interface Staging {
  readonly path: string;
  /**
   * Moves `folder` (the staging folder or one inside it) to `destination`. If another process was
   * first, its complete folder remains. Returns whether this process was first.
   */
  publish(folder: string, destination: string): boolean;
  /** Moves `folder` to `destination` and replaces an existing folder. */
  replace(folder: string, destination: string): void;
  [Symbol.dispose](): void;
}

/** Creates a staging folder in `parent`, and removes those of ended processes. */
export function createStaging(parent: string): Staging {
  makeCacheFolder(parent);
  for (const name of abandoned(parent, '.staging')) {
    rmSync(join(parent, name), { recursive: true, force: true });
  }
  const newPath = () => join(parent, `.staging-${randomBytes(4).toString('hex')}${OWNER}${process.pid}`);
  const path = newPath();
  try {
    mkdirSync(path);
  } catch (error) {
    throw asDiskError(error, path);
  }
  return {
    path,
    publish,
    replace(folder, destination) {
      // Another process may replace it at the same time.
      do remove(destination, newPath());
      while (!publish(folder, destination));
    },
    [Symbol.dispose]: () => rmSync(path, { recursive: true, force: true }),
  };
}

/** Removes a folder at once: by the rename to `aside`. */
function remove(folder: string, aside: string): void {
  try {
    renameSync(folder, aside);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return;
    throw asDiskError(error, folder);
  }
  rmSync(aside, { recursive: true, force: true });
}

function publish(folder: string, destination: string): boolean {
  try {
    renameSync(folder, destination);
    return true;
  } catch (error) {
    // Renaming onto a non-empty folder fails, because another process was first. It may be replacing it.
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ENOTEMPTY' || code === 'EEXIST' || existsSync(destination)) return false;
    throw asDiskError(error, destination);
  }
}

/**
 * The path of a partial download of this process. Takes over a partial download of an ended
 * process, so that its bytes need not be fetched again.
 */
export function claimPartialFile(folder: string, name: string): string {
  makeCacheFolder(folder);
  const own = join(folder, `${name}${OWNER}${process.pid}`);
  if (existsSync(own)) return own;
  for (const left of abandoned(folder, `${name}${OWNER}`)) {
    try {
      renameSync(join(folder, left), own);
      return own;
    } catch (error) {
      // Another process took it over first.
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw asDiskError(error, own);
    }
  }
  return own;
}

/** The names in `folder` with this prefix whose owner was a process of this host that has ended. */
function abandoned(folder: string, prefix: string): string[] {
  return namesIn(folder).filter((name) => {
    const owner = name.lastIndexOf(OWNER);
    return name.startsWith(prefix) && owner >= 0 && !isAlive(Number(name.slice(owner + OWNER.length)));
  });
}

function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch (error) {
    throw asReadError(error, folder);
  }
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}
