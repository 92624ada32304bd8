import { randomBytes } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, renameSync, rmSync } from 'node:fs';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { asDiskError, makeCacheFolder } from './disk.js';

/**
 * Names of unfinished things in the cache end in `~host~pid`. The cache may be shared, also between hosts: only the
 * owner's own host can tell that the owner is gone, and takes over or removes what it left.
 */
const OWNER = `~${hostname().replaceAll('~', '-')}~`;

/** A folder beside its final place, owned by this process, that becomes the final one by a rename. */
export interface Staging {
  readonly path: string;
  /**
   * Moves `folder` (the staging folder or one inside) to `destination`. Another process may have been first: what
   * it put there is whole too, and stays. Gives true when it was this process's.
   */
  publish(folder: string, destination: string): boolean;
  /** The same, but in place of what is there. */
  replace(folder: string, destination: string): void;
  [Symbol.dispose](): void;
}

/** Creates a staging folder in `parent`, and removes those that ended processes left there. */
export function createStaging(parent: string): Staging {
  makeCacheFolder(parent);
  for (const name of abandoned(parent, '.staging')) {
    rmSync(join(parent, name), { recursive: true, force: true });
  }
  const path = join(parent, `.staging-${randomBytes(4).toString('hex')}${OWNER}${process.pid}`);
  try {
    mkdirSync(path);
  } catch (error) {
    throw asDiskError(error, path);
  }
  return {
    path,
    publish,
    replace(folder, destination) {
      rmSync(destination, { recursive: true, force: true });
      publish(folder, destination);
    },
    [Symbol.dispose]: () => rmSync(path, { recursive: true, force: true }),
  };
}

function publish(folder: string, destination: string): boolean {
  try {
    renameSync(folder, destination);
    return true;
  } catch (error) {
    // Renaming onto a folder that holds something fails: another process was first.
    if (existsSync(destination)) return false;
    throw asDiskError(error, destination);
  }
}

/**
 * The path of a partial download that is this process's own. One that an ended process left is taken over, so that
 * its bytes needn't come again.
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
      // Yet another process took it over first.
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw asDiskError(error, own);
    }
  }
  return own;
}

/** Names in `folder` with this prefix whose owner was a process of this host that is no more. */
function abandoned(folder: string, prefix: string): string[] {
  return readdirSync(folder).filter((name) => {
    const owner = name.lastIndexOf(OWNER);
    return name.startsWith(prefix) && owner >= 0 && !isAlive(Number(name.slice(owner + OWNER.length)));
  });
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}
