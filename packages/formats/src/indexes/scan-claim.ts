import { mkdir, rm, stat, utimes } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

/** How often the owner of a claim shows that it lives. */
const BEAT_MS = 1_000;
/** After this time without a sign of life, the owner of a claim is gone. */
const LOST_MS = 10_000;
/** How often a claim of another process is looked at. */
const LOOK_MS = 50;

/**
 * Claims the scan of a file, for all processes that share a folder of indexes. A claim only saves work: if two
 * processes have it, because a network file system misleads them, both make the same index.
 *
 * The claim is a folder. Creating one is atomic on network file systems, too.
 *
 * @returns `other` if another process has the claim.
 * @throws The errors of the file system.
 */
export async function claimScan(path: string): Promise<AsyncDisposable | 'other'> {
  await mkdir(dirname(path), { recursive: true });
  return (await isMade(path)) ? owned(path) : 'other';
}

/**
 * Waits until the owner of a claim gives it up, or is gone.
 *
 * @returns The claim, if its owner is gone and this is the process that takes its place.
 * @throws The errors of the file system.
 */
export async function scanEnded(path: string): Promise<AsyncDisposable | undefined> {
  let beat: number | undefined;
  let since = performance.now();
  for (;;) {
    const last = await beatOf(path);
    if (last === undefined) return undefined;
    if (last !== beat) since = performance.now();
    beat = last;
    // The second time is that of this process alone, because clocks of hosts may differ.
    const isLost = Date.now() - last > LOST_MS || performance.now() - since > LOST_MS;
    // Of all that wait, one makes this folder. That is a sign of life, too.
    if (isLost && (await isMade(join(path, String(Math.round(last)))))) return owned(path);
    await sleep(LOOK_MS);
  }
}

function owned(path: string): AsyncDisposable {
  const beat = (): void => {
    const now = new Date();
    utimes(path, now, now).catch(() => {});
  };
  // At once, because the time of a new folder may be that of a server.
  beat();
  const beats = setInterval(beat, BEAT_MS).unref();
  return {
    async [Symbol.asyncDispose]() {
      clearInterval(beats);
      await rm(path, { recursive: true, force: true });
    },
  };
}

/** Returns false if the folder is there, or if the folder around it is gone. */
async function isMade(folder: string): Promise<boolean> {
  try {
    await mkdir(folder);
    return true;
  } catch (error) {
    if (['EEXIST', 'ENOENT'].includes((error as NodeJS.ErrnoException).code!)) return false;
    throw error;
  }
}

async function beatOf(path: string): Promise<number | undefined> {
  try {
    return (await stat(path)).mtimeMs;
  } catch {
    return undefined;
  }
}
