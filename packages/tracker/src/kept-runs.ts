import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import type { RunStatus } from '@acc/contract';
import { Lane } from './lane.js';
import type { TrackerLimits } from './limits.js';
import { EntryQueue } from './queue/entry-queue.js';
import type { RecordedTracker } from './recording.js';
import { Reporter } from './reporter.js';
import {
  isAbandoned,
  readRecord,
  recordPath,
  runsFolder,
  spoolPath,
  unsentFiles,
  writeRecord,
  type RunRecord,
} from './run-record.js';

export interface SendKeptOptions {
  readonly projectDir: string;
  readonly rank: number;
  /** The folder of the run that is under way. */
  readonly exceptDir: string;
  readonly trackers: readonly RecordedTracker[];
  readonly limits: TrackerLimits;
  readonly warn: (message: string) => void;
}

/**
 * A lane for each earlier run that a tracker has not got all of: it sends what is on disk and finishes the run, as failed where
 * its process was killed. Trackers that can be made anew take part.
 */
export function sendKept(options: SendKeptOptions): Lane[] {
  const makers = new Map(options.trackers.map(({ tracker, make }) => [tracker.name, make]));
  return recordsUnder(runsFolder(options.projectDir), options).flatMap(({ dir, record }) => {
    if (dir === options.exceptDir || record.unsent.length === 0 || !isAbandoned(record)) return [];
    const names = record.unsent.filter((name) => makers.get(name));
    const lanes = names.flatMap((name) => laneFor(name, makers.get(name)!, { dir, record }, options) ?? []);
    if (lanes.length > 0) writeRecord(recordPath(dir, options.rank), { ...record, pid: process.pid });
    return lanes;
  });
}

interface KeptRun {
  readonly dir: string;
  readonly record: RunRecord;
}

/** What lies beside a record that can't be read is told of: nothing else would ever be heard of it. */
function recordsUnder(folder: string, { rank, warn }: SendKeptOptions): KeptRun[] {
  if (!existsSync(folder)) return [];
  const projects = subfolders(folder);
  return projects.flatMap(subfolders).flatMap((dir) => {
    const path = recordPath(dir, rank);
    const { record, problem } = readRecord(path) as { record?: RunRecord; problem?: string };
    if (record) return [{ dir, record }];
    const kept = unsentFiles(dir, rank);
    if (kept.length > 0) {
      warn(
        `acc: entries of an earlier run are not sent to its trackers: the run's record ${path} can't be read: ${problem}. The entries are in ${join(dir, 'unsent')}: ${kept.join(', ')}. Put the record back, or delete the run's folder.`,
      );
    }
    return [];
  });
}

function subfolders(folder: string): string[] {
  const entries = readdirSync(folder, { withFileTypes: true });
  return entries.filter((entry) => entry.isDirectory()).map(({ name }) => join(folder, name));
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
    onEnded: (isFinished) => release(recordPath(dir, rank), name, isFinished ? status : undefined),
  });
}

/** @param status How the run has ended, where the tracker has got all of it. */
function release(path: string, name: string, status: RunStatus | undefined): void {
  const { record } = readRecord(path);
  if (!record) return;
  const unsent = status ? record.unsent.filter((other) => other !== name) : record.unsent;
  writeRecord(path, { ...record, status: status ?? record.status, unsent, pid: 0 });
}
