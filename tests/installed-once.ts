import { existsSync, mkdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

/**
 * The longest time that an installation may take, in milliseconds. A minute of pip's work takes over five
 * on two slow cores beside four other programs.
 */
export const INSTALL_MS = 1_200_000;

/** The folder for things that tests install once on a machine. */
export const testCache = (): string => process.env['ACC_CACHE_DIR'] ?? join(homedir(), '.cache', 'acc');

/**
 * Lets one process call `install`, which fills the new folder `folder`. Other processes wait
 * meanwhile. If the folder is complete, nothing is done.
 */
export async function installOnce(folder: string, install: () => Promise<void>): Promise<void> {
  const done = join(folder, 'installed');
  const lock = `${folder}.lock`;
  while (!existsSync(done)) {
    if (!takeLock(lock)) {
      await sleep(200);
      continue;
    }
    try {
      rmSync(folder, { recursive: true, force: true });
      mkdirSync(dirname(folder), { recursive: true });
      await install();
      writeFileSync(done, '');
    } finally {
      rmSync(lock, { recursive: true });
    }
  }
}

/** A lock that is older than an installation can take belongs to a killed process. */
function takeLock(lock: string): boolean {
  mkdirSync(dirname(lock), { recursive: true });
  try {
    mkdirSync(lock);
    return true;
  } catch {
    const stats = statSync(lock, { throwIfNoEntry: false });
    if (stats && Date.now() - stats.mtimeMs > 2 * INSTALL_MS) rmSync(lock, { recursive: true, force: true });
    return false;
  }
}
