import type { RunStatus } from '@acc/contract';
import { files, join, processId } from '@acc/platform';
import { Lane } from './lane.js';
import type { TrackerLimits } from './limits.js';
import { EntryQueue } from './queue/entry-queue.js';
import type { RecordedTracker } from './recorded-tracker.js';
import { Reporter } from './reporter.js';
import {
  isAbandoned,
  keepRecord,
  readRecord,
  recordPath,
  runsFolder,
  spoolPath,
  unsentFiles,
  type RunRecord,
} from './run-record.js';

export interface SendKeptOptions {
  readonly projectDir: string;
  readonly rank: number;
  /** The folder of the current run. */
  readonly exceptDir: string;
  readonly trackers: readonly RecordedTracker[];
  readonly limits: TrackerLimits;
  readonly warn: (message: string) => void;
}

/**
 * Creates a lane for each earlier run that a tracker has not completely received. The lane sends
 * the data on disk and finishes the run, as failed if its process was killed. Only trackers that
 * can be created again are included.
 */
export function sendKept(options: SendKeptOptions): Lane[] {
  const makers = new Map(options.trackers.map(({ tracker, make }) => [tracker.name, make]));
  return recordsUnder(runsFolder(options.projectDir), options).flatMap(({ dir, record }) => {
    if (dir === options.exceptDir || record.unsent.length === 0 || !isAbandoned(record)) return [];
    const names = record.unsent.filter((name) => makers.get(name));
    const lanes = names.flatMap((name) => laneFor(name, makers.get(name)!, { dir, record }, options) ?? []);
    if (lanes.length === 0) return [];
    // Without this record, another process could send the same data. A later start sends it.
    const claim = { ...record, pid: processId };
    return keepRecord(recordPath(dir, options.rank), claim, options.warn) ? lanes : [];
  });
}

interface KeptRun {
  readonly dir: string;
  readonly record: RunRecord;
}

/**
 * The records under a folder. Warns of unsent data beside a record that cannot be read, because
 * nothing else would report it.
 */
function recordsUnder(folder: string, { rank, warn }: SendKeptOptions): KeptRun[] {
  if (!files.exists(folder)) return [];
  const projects = subfolders(folder);
  return projects.flatMap(subfolders).flatMap((dir) => {
    const path = recordPath(dir, rank);
    const { record, problem } = readRecord(path) as { record?: RunRecord; problem?: string };
    if (record) return [{ dir, record }];
    const kept = unsentFiles(dir, rank);
    if (kept.length > 0) {
      warn(
        `acc: entries of an earlier run cannot be sent to its trackers, because the run's record ${path} cannot be read: ${problem}. The entries are in ${join(dir, 'unsent')}: ${kept.join(', ')}. Restore the record, or delete the folder of the run.`,
      );
    }
    return [];
  });
}

function subfolders(folder: string): string[] {
  const entries = files.list(folder);
  return entries.filter(({ isFolder }) => isFolder).map(({ name }) => join(folder, name));
}

function laneFor(
  name: string,
  make: NonNullable<RecordedTracker['make']>,
  { dir, record }: KeptRun,
  { rank, limits, warn }: SendKeptOptions,
): Lane | undefined {
  const tracker = make();
  const resumedId = record.trackers[name];
  if (resumedId !== undefined && !tracker.resume) return undefined;
  const status: RunStatus = record.status === 'running' ? 'failed' : record.status;
  return new Lane({
    tracker,
    run: { ...record.run, dir },
    resumedId,
    queue: new EntryQueue(spoolPath(dir, name, rank), limits),
    limits,
    reporter: new Reporter(`${name}, run ${record.run.id}`, warn),
    status,
    onEnded: (isFinished) => release({ dir, name, rank, warn }, isFinished ? status : undefined),
  });
}

interface KeptLane extends Pick<SendKeptOptions, 'rank' | 'warn'> {
  readonly dir: string;
  readonly name: string;
}

/** @param status How the run ended, if the tracker has received everything. */
function release({ dir, name, rank, warn }: KeptLane, status: RunStatus | undefined): void {
  const path = recordPath(dir, rank);
  const { record } = readRecord(path);
  if (!record) return;
  const unsent = status ? record.unsent.filter((other) => other !== name) : record.unsent;
  keepRecord(path, { ...record, status: status ?? record.status, unsent, pid: 0 }, warn);
}
