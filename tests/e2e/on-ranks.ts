import { runOnRanks, type RunOnRanksOptions } from '@acc/testkit';

/** Runs a module of this repository on continuous ranks. */
export function onRanks<T>(options: Omit<RunOnRanksOptions, 'warmUp'>): Promise<T[]> {
  return runOnRanks<T>({ ...options, warmUp: new URL('./ranks/warm-up.ts', import.meta.url) });
}
