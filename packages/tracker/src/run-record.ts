import { existsSync, readdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { hostname } from 'node:os';
import { join } from 'node:path';
import type { RunInfo, RunStatus } from '@acc/contract';

/** What is kept of a run beside what trackers store: enough for another process to go on with it, or to finish it. */
export interface RunRecord {
  readonly version: 1;
  readonly run: Omit<RunInfo, 'dir'>;
  readonly status: 'running' | RunStatus;
  /** The process that sends what belongs to it; 0 when none does. */
  readonly pid: number;
  readonly host: string;
  /** What each tracker that has started calls the run. */
  readonly trackers: Readonly<Record<string, string>>;
  /** Trackers that have not got everything. */
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

/** A name that every file system takes. */
function folderName(text: string): string {
  return text.replace(/[^\p{L}\p{N}._ -]/gu, '_').replace(/^\.+/, '_');
}

/** Rank 0's has the plain name. */
export function recordPath(runDir: string, rank: number): string {
  return join(runDir, rank === 0 ? 'run.json' : `run-rank${rank}.json`);
}

/** Where what a tracker has not got yet lies. */
export function spoolPath(runDir: string, tracker: string, rank: number): string {
  return join(runDir, 'unsent', `${folderName(tracker)}${rank === 0 ? '' : `-rank${rank}`}.jsonl`);
}

/** Written whole or not at all. */
export function writeRecord(path: string, record: RunRecord): void {
  const temporary = `${path}.${process.pid}.tmp`;
  writeFileSync(temporary, `${JSON.stringify(record, null, 2)}\n`, { flush: true });
  renameSync(temporary, path);
}

/** A record, or why there is none. */
export type FoundRecord =
  { readonly record: RunRecord } | { readonly problem: string; readonly record?: never };

export function readRecord(path: string): FoundRecord {
  let text: string;
  try {
    text = readFileSync(path, 'utf8');
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    return { problem: code === 'ENOENT' ? 'it is missing' : message };
  }
  try {
    const record = JSON.parse(text) as Partial<RunRecord> | null;
    if (record?.version !== undefined && record.version !== 1) {
      return { problem: `it is of version ${String(record.version)}, and this version knows 1` };
    }
    const isWhole = record?.version === 1 && typeof record.run?.id === 'string';
    if (isWhole && Array.isArray(record.unsent)) return { record: record as RunRecord };
    return { problem: 'it holds no run' };
  } catch (error) {
    return { problem: `it is no JSON: ${(error as Error).message}` };
  }
}

/** Files of what trackers of one rank have not got yet. */
export function unsentFiles(runDir: string, rank: number): string[] {
  const folder = join(runDir, 'unsent');
  if (!existsSync(folder)) return [];
  const rankOf = (name: string) => Number(/-rank(\d+)\.jsonl$/.exec(name)?.[1] ?? 0);
  return readdirSync(folder).filter((name) => name.endsWith('.jsonl') && rankOf(name) === rank);
}

/** Whether nobody sends any more what belongs to the run, as far as this host knows. */
export function isAbandoned({ pid, host }: RunRecord): boolean {
  return host === hostname() && !isAlive(pid);
}

function isAlive(pid: number): boolean {
  if (pid === 0) return false;
  try {
    return process.kill(pid, 0);
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}
