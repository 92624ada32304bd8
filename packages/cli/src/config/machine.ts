import { availableParallelism } from 'node:os';
import { isAccError } from '@acc/contract';
import type { FieldValue } from '@acc/config';

/** The settings that a new config file suggests for this machine. */
export interface Suggested {
  readonly launch: Readonly<Record<string, FieldValue>>;
  readonly accelerator: Readonly<Record<string, FieldValue>>;
  /** Why, in a line. */
  readonly reason: string;
}

/** The most ranks that are suggested. More than that is a choice of the user. */
const MOST_RANKS = 8;

/**
 * A rank for each GPU, or for each two cores, because ranks gain from threads. Two cores are two ranks: one
 * is what runs without a file.
 */
export function ranksFor(cores: number, gpus: number): number {
  return gpus > 0 ? gpus : Math.min(MOST_RANKS, Math.max(Math.min(2, cores), Math.floor(cores / 2)));
}

/** The settings for this machine. */
export async function suggestFor(): Promise<Suggested> {
  const cores = availableParallelism();
  const gpus = await countGpus();
  return {
    launch: { nproc: ranksFor(cores, gpus) },
    accelerator: gpus > 0 ? { mixedPrecision: 'bf16' } : {},
    reason: gpus > 0 ? `${gpus} GPUs` : `${cores} cores, no GPU that libtorch can use`,
  };
}

async function countGpus(): Promise<number> {
  try {
    const { deviceCount } = await import('@acc/native');
    return deviceCount('cuda');
  } catch (error) {
    if (isAccError(error)) return 0;
    throw error;
  }
}
