import { createHash } from 'node:crypto';
import { dirname, join } from 'node:path';
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
 * The peaks of this machine, stored in the cache folder. Ranks that measure at different times would not
 * share the machine as in training, so either all of them measure or none does.
 */
export class StoredPeaks {
  readonly #key: object;
  readonly #path: string;

  constructor(private readonly asked: Asked) {
    const { dtype, device, localSize } = asked;
    this.#key = { host: hostName(), device, torch: torchVersion(), dtype, threads: numThreads(), localSize };
    const name = createHash('sha256').update(JSON.stringify(this.#key)).digest('hex').slice(0, 16);
    this.#path = join(readEnvironment().cacheDir, 'peaks', `${name}.json`);
  }

  /** The peaks that an earlier profile has measured. */
  get stored(): Peak | undefined {
    const peak = readPeak(this.#path);
    return peak && Date.now() - peak.measuredAt < VALID_DAYS * DAY_MS ? peak : undefined;
  }

  /** Measures the peaks, and returns the higher ones of the new and the stored, which are stored. */
  measure(): Peak {
    const { dtype, device } = this.asked;
    return this.keepHigher(measurePeak(dtype, { device }));
  }

  /** If peaks cannot be stored, the next profile measures them again. */
  keepHigher(peak: Peak): Peak {
    const { stored } = this;
    if (stored && stored.flopsPerSecond >= peak.flopsPerSecond) return stored;
    try {
      files.makeFolder(dirname(this.#path));
      files.replace(this.#path, JSON.stringify({ ...this.#key, ...peak }, null, 2));
    } catch {
      // A cache that cannot be written is no reason to lose the profile.
    }
    return peak;
  }
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
