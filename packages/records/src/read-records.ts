import { AccError, isAccError, isRecord } from '@acc/contract';
import { basename, dirname, files, join } from '@acc/platform';
import { readBytes } from '#platform/read-bytes';
import { diagnoseRun, type DiagnoseOptions, type Diagnosis } from './diagnosis/diagnose.js';
import type { RankRecords, RecordedRun } from './diagnosis/run.js';
import { parseFacts } from './facts.js';
import { readBlocks, versionOf, type SampleRow, type StepRow } from './format.js';

/** `ACR1`: the version that this package reads. */
const VERSION = '1';
const STEPS = /^steps-rank-(\d+)\.acc$/;

/**
 * Finds what holds a training back, in the records of its run. Each finding has its share of the time,
 * evidence, the change to make, and the gain to expect.
 *
 * @param path Of a run's folder, such as `runs/mnist/1`, or of a file of records in it. Or its records.
 * @throws AccError `ACC_RECORDS_MISSING`, `ACC_RECORDS_FORMAT`, `ACC_RECORDS_EMPTY`, `ACC_INVALID_ARGUMENT`,
 * `ACC_UNKNOWN_OPTION`, `ACC_INVALID_OPTION`.
 */
export async function diagnose(path: string | RecordedRun, options?: DiagnoseOptions): Promise<Diagnosis> {
  return diagnoseRun(isRecordedRun(path) ? path : await readRecords(path), options);
}

function isRecordedRun(value: unknown): value is RecordedRun {
  if (!isRecord(value)) return false;
  const { ranks, problems } = value;
  const hasRows = (rank: unknown) =>
    isRecord(rank) && Array.isArray(rank.steps) && Array.isArray(rank.samples);
  return Array.isArray(ranks) && ranks.every(hasRows) && Array.isArray(problems);
}

/**
 * Reads the records of all ranks of a run.
 *
 * @param path Of a run's folder, such as `runs/mnist/1`, or of a file of records in it.
 * @throws AccError `ACC_RECORDS_MISSING`, `ACC_RECORDS_FORMAT`, `ACC_INVALID_ARGUMENT`.
 */
export async function readRecords(path: string): Promise<RecordedRun> {
  if (typeof path !== 'string')
    throw new AccError('ACC_INVALID_ARGUMENT', 'The path of the run is no text.', {
      help: 'Give the folder of a run, such as runs/mnist/1. diagnose also takes the result of readRecords.',
    });
  const folder = recordsFolder(path);
  const names = readOrThrow(folder, () => files.list(folder)).map(({ name }) => name);
  const numbers = names.flatMap((name) => STEPS.exec(name)?.[1] ?? []).map(Number);
  const problems: string[] = [];
  const ranks: RankRecords[] = [];
  for (const rank of numbers.toSorted((a, b) => a - b)) ranks.push(await readRank(folder, rank, problems));
  return { ranks, problems: [...problems, ...missingRanks(ranks)] };
}

/** @throws AccError `ACC_RECORDS_MISSING` instead of errors of the system. */
function readOrThrow<T>(path: string, read: () => T): T {
  try {
    return read();
  } catch (error) {
    if (isAccError(error)) throw error;
    throw new AccError('ACC_RECORDS_MISSING', `${path} cannot be read: ${(error as Error).message}.`, {
      help: 'Let this user read the folder of the run and the files in its folder insight.',
      cause: error,
    });
  }
}

/**
 * The folder with the records of one run.
 *
 * @throws AccError `ACC_RECORDS_MISSING`.
 */
export function recordsFolder(path: string): string {
  return readOrThrow(path, () => folderOf(path));
}

/** The folder with the records. @throws AccError `ACC_RECORDS_MISSING`. */
function folderOf(path: string): string {
  const found = files.look(path);
  if (!found) throw missing(`There is nothing at ${path}.`);
  if (!found.isFolder) {
    if (/-rank-\d+\.(acc|jsonl)$/.test(basename(path))) return dirname(path);
    throw missing(`${path} is no file of records.`);
  }
  const folder = recordsIn(path);
  if (folder !== undefined) return folder;
  throw missing(`${path} has no records.`, runsBelow(path));
}

/** The folder with the records of a run's folder. Undefined: it has none. */
function recordsIn(path: string): string | undefined {
  return [path, join(path, 'insight')].find(
    (folder) =>
      files.look(folder)?.isFolder === true && files.list(folder).some(({ name }) => STEPS.test(name)),
  );
}

/**
 * The folders with the records of a run, or of all runs of a project or a folder of projects.
 *
 * @throws AccError `ACC_RECORDS_MISSING`.
 */
export function findRuns(path: string): string[] {
  return readOrThrow(path, () => {
    const isOther = files.look(path)?.isFolder === true && recordsIn(path) === undefined;
    const runs = isOther ? runsBelow(path) : [];
    return runs.length > 0 ? runs.map((run) => join(run, 'insight')) : [folderOf(path)];
  });
}

/** Runs with records, at most two folders deeper. Folders that cannot be read are left out. */
function runsBelow(path: string, depth = 3): string[] {
  if (depth === 0) return [];
  try {
    return files.list(path).flatMap(({ name, isFolder }) => {
      if (!isFolder || name === 'node_modules') return [];
      const inner = join(path, name);
      return hasRecords(inner) ? [inner] : runsBelow(inner, depth - 1);
    });
  } catch {
    return [];
  }
}

function hasRecords(path: string): boolean {
  try {
    return files.look(join(path, 'insight'))?.isFolder === true;
  } catch {
    return false;
  }
}

const MOST_RUNS = 3;

function missing(message: string, runs: readonly string[] = []): AccError {
  const help =
    runs.length > 0
      ? `Give the folder of a run: ${runs.slice(-MOST_RUNS).join(', ')}.`
      : 'Give the folder of a run, such as runs/mnist/1. Records are kept if the Accelerator was created with autoLog: true, from initTrackers on. A run that ended before its second step has none.';
  return new AccError('ACC_RECORDS_MISSING', message, { help, details: { runs } });
}

async function readRank(folder: string, rank: number, problems: string[]): Promise<RankRecords> {
  const steps = await readRows<StepRow>(folder, `steps-rank-${rank}.acc`, problems);
  const samples = await readRows<SampleRow>(folder, `samples-rank-${rank}.acc`, problems);
  const path = join(folder, `facts-rank-${rank}.jsonl`);
  const facts = files.exists(path) ? parseFacts(readOrThrow(path, () => files.readText(path))) : undefined;
  return { rank, steps: steps.rows, resumedAt: steps.lastBegin, samples: samples.rows, facts };
}

/** @throws AccError `ACC_RECORDS_FORMAT` if a file of steps is in another format. */
async function readRows<T extends StepRow | SampleRow>(folder: string, name: string, problems: string[]) {
  const path = join(folder, name);
  if (!files.exists(path)) return { rows: [], lastBegin: 0 };
  const bytes = readOrThrow(path, () => readBytes(path));
  const error = formatError(bytes, path);
  if (error) {
    if (STEPS.test(name)) throw error;
    problems.push(error.message);
    return { rows: [], lastBegin: 0 };
  }
  const { rows, passedOver, lastBegin } = await readBlocks<T>(bytes);
  if (passedOver > 0)
    problems.push(
      `${path}: ${passedOver} bytes are no whole block. The run was killed, or is still writing.`,
    );
  return { rows, lastBegin };
}

/** The reason why bytes are no records of this version. Undefined: they are, or there are none yet. */
export function formatError(bytes: Uint8Array, path: string): AccError | undefined {
  const version = versionOf(bytes);
  if (bytes.length === 0 || version === VERSION) return undefined;
  const found =
    version === undefined
      ? 'is no file of records'
      : `has records in version ${version} of the format; this is version ${VERSION}`;
  return new AccError('ACC_RECORDS_FORMAT', `${path} ${found}.`, {
    help: 'Read it with the version of @acc/core that wrote it, or record the run again.',
  });
}

/** Ranks of the run without steps: a text about all of them. */
export function missingRanks(ranks: readonly RankRecords[]): string[] {
  const count = Math.max(0, ...ranks.map(({ facts }) => facts?.ranks ?? 0));
  const known = new Set(ranks.filter(({ steps }) => steps.length > 0).map(({ rank }) => rank));
  const absent = Array.from({ length: count }, (_, rank) => rank).filter((rank) => !known.has(rank));
  if (absent.length === 0) return [];
  return [
    `No steps of rank ${absent.join(', ')}, of ${count} ranks. A rank of another host writes to that host: copy its files into the folder.`,
  ];
}
