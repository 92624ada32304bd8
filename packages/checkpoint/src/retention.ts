import type { Marker } from './format/manifest.js';

export interface RetentionOptions {
  /**
   * The number of newest checkpoints to keep, besides the one from which the run resumed. Default: all.
   */
  readonly keepLast?: number | undefined;
  /** Also keeps the checkpoints with the best values of a metric. Default: none. */
  readonly keepBest?: KeepBest | undefined;
  /** Also keeps the checkpoints whose step is a multiple of this number. Default: none. */
  readonly keepEvery?: number | undefined;
}

export interface KeepBest {
  /** The metric's name in the `metrics` of `saveState`. */
  readonly metric: string;
  /** Whether the smallest or the largest values are the best. */
  readonly mode: 'min' | 'max';
  /** The number of checkpoints to keep. Default 1. */
  readonly count?: number | undefined;
}

/** A complete checkpoint. */
export interface SavedCheckpoint {
  readonly name: string;
  readonly marker: Marker;
}

/** Sorts checkpoints from the newest to the oldest. */
export function newestFirst(saved: readonly SavedCheckpoint[]): SavedCheckpoint[] {
  const time = ({ marker }: SavedCheckpoint) => Date.parse(marker.savedAt);
  return [...saved].sort((a, b) => time(b) - time(a) || b.marker.step - a.marker.step);
}

/**
 * Sorts checkpoints from the best value of a metric to the worst. Of two equal values the newer
 * checkpoint comes first. Checkpoints without the metric are left out.
 */
export function bestFirst(
  saved: readonly SavedCheckpoint[],
  { metric, mode }: Pick<KeepBest, 'metric' | 'mode'>,
): SavedCheckpoint[] {
  const sign = mode === 'min' ? 1 : -1;
  const value = ({ marker }: SavedCheckpoint) => marker.metrics[metric];
  const known = newestFirst(saved).filter((each) => !Number.isNaN(value(each) ?? NaN));
  return known.sort((a, b) => sign * (value(a)! - value(b)!));
}

/** The names of the checkpoints that need not be kept. */
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
