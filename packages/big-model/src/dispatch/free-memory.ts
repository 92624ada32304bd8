import { readFileSync } from 'node:fs';
import { freemem } from 'node:os';

/** The part of free memory that weights may take. The rest is left for what operators compute. */
const SHARE = 0.75;
/** Bytes that are always left: the JavaScript heap and the runtime grow by tens of megabytes. */
const RESERVE = 64 * 2 ** 20;

/**
 * Bytes of host memory that weights may take now, by the memory of the host and the limits of this
 * process.
 *
 * @param processes Share the memory of the host.
 */
export function bytesForWeights(processes: number): number {
  const { availableMemory } = process as { availableMemory?: () => number };
  const free = availableMemory?.() ?? freemem();
  const most = Math.min(free / processes, ...underLimits());
  return Math.max(0, Math.floor(Math.min(SHARE * most, most - RESERVE)));
}

/** The remaining bytes under the limits of setrlimit. Empty where the system does not tell. */
function underLimits(): number[] {
  let limits: string;
  let status: string;
  try {
    limits = readFileSync('/proc/self/limits', 'utf8');
    status = readFileSync('/proc/self/status', 'utf8');
  } catch {
    return [];
  }
  const left = (limit: string, use: string) => {
    const most = new RegExp(`^${limit} +(\\d+)`, 'm').exec(limits)?.[1];
    const used = new RegExp(`^${use}:\\s+(\\d+) kB`, 'm').exec(status)?.[1];
    return most && used ? [Number(most) - 1024 * Number(used)] : [];
  };
  return [...left('Max data size', 'VmData'), ...left('Max address space', 'VmSize')];
}
