import type { MetricsRow, RunInfo, RunStatus, Stamp, Tracker, TrackedImage } from '@acc/contract';
import type { Entry, MetricsEntry } from './entry.js';

/** One call of a tracker, and the entries that it sends. */
export interface Call {
  readonly kind: 'start' | 'entries' | 'finish';
  readonly entries: readonly Entry[];
  readonly run: (signal: AbortSignal) => void | Promise<void>;
}

/** @param runId The id that the tracker gave the run in an earlier process, if the run is resumed. */
export function startCall(tracker: Tracker, run: RunInfo, runId: string | undefined): Call {
  const start = () => (runId === undefined ? tracker.start(run) : tracker.resume!(run, runId));
  return { kind: 'start', entries: [], run: start };
}

export function finishCall(tracker: Tracker, status: RunStatus): Call {
  return { kind: 'finish', entries: [], run: () => tracker.finish(status) };
}

/** @param entries At least one. The tracker's methods determine how many of them the call sends. */
export function entriesCall(tracker: Tracker, entries: readonly Entry[]): Call {
  const first = entries[0]!;
  if (first.kind !== 'metrics' || !tracker.logBatch) {
    return { kind: 'entries', entries: [first], run: (signal) => give(tracker, first, signal) };
  }
  const end = entries.findIndex(({ kind }) => kind !== 'metrics');
  const batch = entries.slice(0, end < 0 ? undefined : end) as MetricsEntry[];
  return {
    kind: 'entries',
    entries: batch,
    run: (signal) => tracker.logBatch!(batch.map(rowOf), stampOf(first, signal)),
  };
}

function rowOf({ step, metrics, sequence, timeMs }: MetricsEntry): MetricsRow {
  return { step, metrics, sequence, timeMs };
}

function stampOf({ sequence, timeMs }: Entry, signal: AbortSignal): Stamp {
  return { sequence, timeMs, signal };
}

function give(tracker: Tracker, entry: Entry, signal: AbortSignal): void | Promise<void> {
  const stamp = stampOf(entry, signal);
  const { step } = entry;
  switch (entry.kind) {
    case 'metrics':
      return tracker.log(step, entry.metrics, stamp);
    case 'config':
      return tracker.logConfig!(entry.config, stamp);
    case 'text':
      return tracker.logText!(step, entry.key, entry.text, stamp);
    case 'histogram':
      return tracker.logHistogram!(step, entry.key, entry.histogram, stamp);
    case 'table':
      return tracker.logTable!(step, entry.key, entry.table, stamp);
    case 'artifact':
      return tracker.logArtifact!(step, entry.artifact, stamp);
    case 'model':
      return tracker.logModel!(step, entry.artifact, stamp);
    case 'image': {
      const { key } = entry;
      const log = (image: TrackedImage) => tracker.logImage!(step, key, image, stamp);
      const image = entry.image.get();
      return image instanceof Promise ? image.then(log) : log(image);
    }
  }
}

/** The method that a tracker needs for each kind of entry. */
const METHODS = {
  metrics: 'log',
  config: 'logConfig',
  text: 'logText',
  image: 'logImage',
  histogram: 'logHistogram',
  table: 'logTable',
  artifact: 'logArtifact',
  model: 'logModel',
} as const satisfies Record<Entry['kind'], keyof Tracker>;

export function methodFor(kind: Entry['kind']): (typeof METHODS)[Entry['kind']] {
  return METHODS[kind];
}

/** The time limit of a call, in milliseconds. Files get one more second for each MiB. */
export function limitOf({ entries }: Call, callMs: number): number {
  const [entry] = entries;
  if (entry?.kind !== 'artifact' && entry?.kind !== 'model') return callMs;
  const bytes = entry.artifact.files.reduce((sum, file) => sum + file.bytes, 0);
  return callMs + (1000 * bytes) / 2 ** 20;
}
