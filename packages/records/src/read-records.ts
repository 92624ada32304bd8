import { AccError } from '@acc/contract';
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
 * @throws AccError `ACC_RECORDS_MISSING`, `ACC_RECORDS_FORMAT`, `ACC_RECORDS_EMPTY`.
 */
export async function diagnose(path: string | RecordedRun, options?: DiagnoseOptions): Promise<Diagnosis> {
  return diagnoseRun(typeof path === 'string' ? await readRecords(path) : path, options);
}

/**
 * Reads the records of all ranks of a run.
 *
 * @param path Of a run's folder, such as `runs/mnist/1`, or of a file of records in it.
 * @throws AccError `ACC_RECORDS_MISSING`, `ACC_RECORDS_FORMAT`.
 */
export async function readRecords(path: string): Promise<RecordedRun> {
  const folder = folderOf(path);
  const names = files.list(folder).map(({ name }) => name);
  const numbers = names.flatMap((name) => STEPS.exec(name)?.[1] ?? []).map(Number);
  const problems: string[] = [];
  const ranks: RankRecords[] = [];
  for (const rank of numbers.toSorted((a, b) => a - b)) ranks.push(await readRank(folder, rank, problems));
  return { ranks, problems: [...problems, ...missingRanks(ranks)] };
}

/** The folder with the records. @throws AccError `ACC_RECORDS_MISSING`. */
function folderOf(path: string): string {
  const found = files.look(path);
  if (!found) throw missing(`There is nothing at ${path}.`);
  if (!found.isFolder) {
    if (/-rank-\d+\.(acc|jsonl)$/.test(basename(path))) return dirname(path);
    throw missing(`${path} is no file of records.`);
  }
  for (const folder of [path, join(path, 'insight')])
    if (files.look(folder)?.isFolder && files.list(folder).some(({ name }) => STEPS.test(name)))
      return folder;
  const runs = runsBelow(path);
  throw missing(`${path} has no records.`, runs);
}

/** Runs with records, at most two folders deeper. */
function runsBelow(path: string, depth = 3): string[] {
  if (depth === 0 || !files.look(path)?.isFolder) return [];
  return files.list(path).flatMap(({ name, isFolder }) => {
    if (!isFolder || name === 'node_modules') return [];
    const inner = join(path, name);
    return files.look(join(inner, 'insight'))?.isFolder ? [inner] : runsBelow(inner, depth - 1);
  });
}

const MOST_RUNS = 3;

function missing(message: string, runs: readonly string[] = []): AccError {
  const help =
    runs.length > 0
      ? `Give the folder of a run: ${runs.slice(-MOST_RUNS).join(', ')}.`
      : 'Give the folder of a run, such as runs/mnist/1. A run has records if its Accelerator has autoLog: true, and after initTrackers.';
  return new AccError('ACC_RECORDS_MISSING', message, { help, details: { runs } });
}

async function readRank(folder: string, rank: number, problems: string[]): Promise<RankRecords> {
  const read = async <T extends StepRow | SampleRow>(name: string): Promise<T[]> => {
    const path = join(folder, `${name}-rank-${rank}.acc`);
    if (!files.exists(path)) return [];
    const bytes = readBytes(path);
    requireVersion(bytes, path);
    const { rows, passedOver } = await readBlocks<T>(bytes);
    if (passedOver > 0)
      problems.push(
        `${path}: ${passedOver} bytes are no whole block. The run was killed, or is still writing.`,
      );
    return rows;
  };
  const steps = await read<StepRow>('steps');
  const samples = await read<SampleRow>('samples');
  const path = join(folder, `facts-rank-${rank}.jsonl`);
  const facts = files.exists(path) ? parseFacts(files.readText(path)) : undefined;
  return { rank, steps, samples, facts };
}

/** @throws AccError `ACC_RECORDS_FORMAT`. */
function requireVersion(bytes: Uint8Array, path: string): void {
  const version = versionOf(bytes);
  if (bytes.length === 0 || version === VERSION) return;
  const found = version === undefined ? 'has no records' : `has records in version ${version} of the format`;
  throw new AccError('ACC_RECORDS_FORMAT', `${path} ${found}; this is version ${VERSION}.`, {
    help: 'Read it with the version of @acc/core that wrote it, or record the run again.',
  });
}

function missingRanks(ranks: readonly RankRecords[]): string[] {
  const count = Math.max(0, ...ranks.map(({ facts }) => facts?.ranks ?? 0));
  const known = new Set(ranks.filter(({ steps }) => steps.length > 0).map(({ rank }) => rank));
  const absent = Array.from({ length: count }, (_, rank) => rank).filter((rank) => !known.has(rank));
  if (absent.length === 0) return [];
  return [
    `No steps of rank ${absent.join(', ')}, of ${count} ranks. A rank of another host writes to that host: copy its files into the folder.`,
  ];
}
