import type { RunInfo, RunStatus } from '@acc/contract';
import { dirname, files, hostName, isProcessAlive, join, openFolder } from '@acc/platform';
import { briefly } from './errors.js';

/** The record of a run on disk. With it, another process can resume or finish the run. */
export interface RunRecord {
  readonly version: 1;
  readonly run: Omit<RunInfo, 'dir'>;
  readonly status: 'running' | RunStatus;
  /** The process that sends the data of the run; 0 if there is none. */
  readonly pid: number;
  readonly host: string;
  /** The id that each started tracker gave the run. */
  readonly trackers: Readonly<Record<string, string>>;
  /** Trackers that have not received everything. */
  readonly unsent: readonly string[];
}

/** Under the project's folder. */
export function runsFolder(projectDir: string): string {
  return join(projectDir, 'runs');
}

/** The folder of one run. */
export function runFolder(projectDir: string, project: string, id: string): string {
  return join(runsFolder(projectDir), folderName(project), id);
}

/** A folder name that every file system accepts. */
function folderName(text: string): string {
  return text.replace(/[^\p{L}\p{N}._ -]/gu, '_').replace(/^\.+/, '_');
}

/** The path of a rank's record. The file of rank 0 has no number in its name. */
export function recordPath(runDir: string, rank: number): string {
  return join(runDir, rank === 0 ? 'run.json' : `run-rank${rank}.json`);
}

/** The path of the unsent data of a tracker. */
export function spoolPath(runDir: string, tracker: string, rank: number): string {
  return join(runDir, 'unsent', `${folderName(tracker)}${rank === 0 ? '' : `-rank${rank}`}.jsonl`);
}

/** Makes the records and the unsent data of all runs available. */
export function openRuns(projectDir: string): Promise<void> {
  return openFolder(runsFolder(projectDir), isOfRecording);
}

/**
 * Makes the tables of the run in `dir` and of unfinished runs available. The tracker csv reads its
 * file when it continues a run. Call {@link openRuns} before.
 */
export function openTables(projectDir: string, dir: string): Promise<void> {
  const isRead = (runDir: string) => runDir === dir || isUnfinished(runDir);
  return openFolder(runsFolder(projectDir), (path) => path.endsWith('.csv') && isRead(dirname(path)));
}

function isUnfinished(runDir: string): boolean {
  return (readRecord(recordPath(runDir, 0)).record?.unsent.length ?? 0) > 0;
}

function isOfRecording(path: string): boolean {
  return /\/run(?:-rank\d+)?\.json$|\/unsent\/[^/]*$/.test(path);
}

/** @throws The error of the file system. */
export function writeRecord(path: string, record: RunRecord): void {
  files.replace(path, `${JSON.stringify(record, null, 2)}\n`);
}

/** Writes the record. If that fails, only warns: the run goes on, and its end is no failure. */
export function keepRecord(path: string, record: RunRecord, warn: (message: string) => void): boolean {
  try {
    writeRecord(path, record);
    return true;
  } catch (error) {
    warn(`acc: the run's record cannot be written: ${briefly(error)}`);
    return false;
  }
}

/** A record, or the reason why it cannot be used. */
export type FoundRecord =
  { readonly record: RunRecord } | { readonly problem: string; readonly record?: never };

export function readRecord(path: string): FoundRecord {
  let text: string;
  try {
    text = files.readText(path);
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    return { problem: code === 'ENOENT' ? 'it is missing' : message };
  }
  try {
    const record = JSON.parse(text) as Partial<RunRecord> | null;
    if (record?.version !== undefined && record.version !== 1) {
      return { problem: `its version is ${String(record.version)}, but this program supports version 1` };
    }
    const isWhole = record?.version === 1 && typeof record.run?.id === 'string';
    if (isWhole && Array.isArray(record.unsent)) return { record: record as RunRecord };
    return { problem: 'it does not contain a run' };
  } catch (error) {
    return { problem: `it is not JSON: ${(error as Error).message}` };
  }
}

/** The files with unsent data of the trackers of one rank. */
export function unsentFiles(runDir: string, rank: number): string[] {
  const folder = join(runDir, 'unsent');
  if (!files.exists(folder)) return [];
  const rankOf = (name: string) => Number(/-rank(\d+)\.jsonl$/.exec(name)?.[1] ?? 0);
  const names = files.list(folder).map(({ name }) => name);
  return names.filter((name) => name.endsWith('.jsonl') && rankOf(name) === rank);
}

/** Whether the process that recorded the run is gone. A process of another host counts as alive. */
export function isAbandoned({ pid, host }: RunRecord): boolean {
  return host === hostName() && !(pid !== 0 && isProcessAlive(pid));
}
