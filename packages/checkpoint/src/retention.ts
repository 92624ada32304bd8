import type { Marker } from './format/manifest.js';

export interface RetentionOptions {
  /** The newest so many are kept. Default: all. */
  readonly keepLast?: number | undefined;
  /** So many with the best value of a metric are kept besides. Default: none. */
  readonly keepBest?: KeepBest | undefined;
  /** Those whose step is a multiple of it are kept besides. Default: none. */
  readonly keepEvery?: number | undefined;
}

export interface KeepBest {
  /** Its name in the `metrics` of `saveState`. */
  readonly metric: string;
  /** Whether small or large values are good. */
  readonly mode: 'min' | 'max';
  /** Default 1. */
  readonly count?: number | undefined;
}

/** A complete checkpoint among others. */
export interface SavedCheckpoint {
  readonly name: string;
  readonly marker: Marker;
}

/** The newest first. */
export function newestFirst(saved: readonly SavedCheckpoint[]): SavedCheckpoint[] {
  const time = ({ marker }: SavedCheckpoint) => Date.parse(marker.savedAt);
  return [...saved].sort((a, b) => time(b) - time(a) || b.marker.step - a.marker.step);
}

/** Those with the best values of a metric, the best first; of equal ones the newer. Those that have none are left out. */
export function bestFirst(
  saved: readonly SavedCheckpoint[],
  { metric, mode }: Pick<KeepBest, 'metric' | 'mode'>,
): SavedCheckpoint[] {
  const sign = mode === 'min' ? 1 : -1;
  const value = ({ marker }: SavedCheckpoint) => marker.metrics[metric];
  const known = newestFirst(saved).filter((each) => !Number.isNaN(value(each) ?? NaN));
  return known.sort((a, b) => sign * (value(a)! - value(b)!));
}

/** The names of those that need not be kept. */
export function expendable(
  saved: readonly SavedCheckpoint[],
  { keepLast, keepBest, keepEvery }: RetentionOptions,
): string[] {
  if (keepLast === undefined) return [];
  const kept = new Set(newestFirst(saved).slice(0, keepLast));
  if (keepBest) for (const each of bestFirst(saved, keepBest).slice(0, keepBest.count ?? 1)) kept.add(each);
  const isEvery = ({ marker }: SavedCheckpoint) => keepEvery !== undefined && marker.step % keepEvery === 0;
  return saved.filter((each) => !kept.has(each) && !isEvery(each)).map(({ name }) => name);
}
