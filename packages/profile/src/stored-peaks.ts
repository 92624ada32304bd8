import { createHash } from 'node:crypto';
import { join } from 'node:path';
import { files, hostName } from '@acc/platform';
import { numThreads, readEnvironment, torchVersion } from '@acc/native';
import { measurePeak, type Peak } from './peak.js';

/** Everything that the peaks of a machine depend on. */
interface Asked {
  readonly dtype: Peak['dtype'];
  readonly device: string;
  /** The number of ranks on this host, which measure at the same time. */
  readonly localSize: number;
}

/** A machine may change, so peaks are measured again after this many days. */
const VALID_DAYS = 30;
const DAY_MS = 24 * 60 * 60 * 1000;

/**
 * The peaks of this machine: those that an earlier profile has measured and stored in the cache folder,
 * else new ones. If they cannot be stored, the next profile measures them again.
 */
export function peakOf({ dtype, device, localSize }: Asked): Peak {
  const key = { host: hostName(), device, torch: torchVersion(), dtype, threads: numThreads(), localSize };
  const name = createHash('sha256').update(JSON.stringify(key)).digest('hex').slice(0, 16);
  const folder = join(readEnvironment().cacheDir, 'peaks');
  const path = join(folder, `${name}.json`);
  const stored = readPeak(path);
  if (stored && Date.now() - stored.measuredAt < VALID_DAYS * DAY_MS) return stored;
  const peak = measurePeak(dtype, { device });
  try {
    files.makeFolder(folder);
    files.replace(path, JSON.stringify({ ...key, ...peak }, null, 2));
  } catch {
    // A cache that cannot be written is no reason to lose the profile.
  }
  return peak;
}

function readPeak(path: string): Peak | undefined {
  try {
    const { flopsPerSecond, dtype, size, threads, bytesPerSecond, measuredAt } = JSON.parse(
      files.readText(path),
    ) as Partial<Peak>;
    const numbers = [flopsPerSecond, size, threads, bytesPerSecond, measuredAt];
    if (!numbers.every(Number.isFinite)) return undefined;
    return { flopsPerSecond, dtype, size, threads, bytesPerSecond, measuredAt } as Peak;
  } catch {
    // It is missing, or another program has damaged it.
    return undefined;
  }
}
