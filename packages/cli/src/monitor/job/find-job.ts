import { readdirSync, readFileSync, realpathSync, statSync } from 'node:fs';
import { hostname } from 'node:os';
import { join, resolve } from 'node:path';
import { AccError } from '@acc/contract';
import { findRuns, parseFacts } from '@acc/records';
import {
  allProcesses,
  familyOf,
  isAlive,
  processOf,
  recordFoldersOf,
  tellsProcesses,
  type Process,
} from './processes.js';

const ATTACH = 'ACC_MONITOR_ATTACH';
const RECORD =
  'Records are kept from the first step on, with autoLog: true and initTrackers(). Start the training, then acc monitor.';
/** Samples of a process come every 250 ms. */
const SILENT_MS = 5000;

/**
 * The folder with the records of a running job.
 *
 * @param target The number of a process of the job, or the folder of its run. True: the only job of this user.
 * @param uid The user who asks. Undefined: the system has no such numbers.
 * @throws AccError `ACC_MONITOR_ATTACH`, `ACC_RECORDS_MISSING`.
 */
export function findJob(target: string | true, uid: number | undefined = process.getuid?.()): string {
  if (target === true) return onlyJob(uid);
  return /^\d+$/.test(target) ? jobOfProcess(Number(target), uid) : jobOfFolder(target, uid);
}

function onlyJob(uid: number | undefined): string {
  requireProcesses();
  const folders = foldersOf(allProcesses().filter((each) => isOwn(each.uid, uid)));
  if (folders.length === 0)
    throw new AccError(ATTACH, 'No running job of this user keeps records on this machine.', {
      help: RECORD,
    });
  return single(folders, 'Several jobs of this user run');
}

function jobOfProcess(pid: number, uid: number | undefined): string {
  requireProcesses();
  const found = processOf(pid);
  if (!found)
    throw new AccError(ATTACH, `There is no process ${pid} on this machine: it has ended, or never was.`, {
      help: 'acc monitor --attach without a number finds the job of this user. acc monitor <folder> shows the records of one that has ended.',
    });
  if (!isOwn(found.uid, uid)) throw ofAnother(`Process ${pid}`, found.uid);
  const folders = foldersOf(familyOf(pid, allProcesses()));
  if (folders.length === 0)
    throw new AccError(ATTACH, `Process ${pid} keeps no records, and none that it has started does.`, {
      help: RECORD,
    });
  return single(folders, `Several jobs run below process ${pid}`);
}

function jobOfFolder(path: string, uid: number | undefined): string {
  const runs = findRuns(path).map((found) => resolve(found));
  const running = runs.filter(isRunning);
  const [first] = running;
  if (first === undefined)
    throw new AccError(
      ATTACH,
      runs.length === 1
        ? `The job of ${runs[0]!} has ended.`
        : `None of the ${runs.length} runs in ${path} is running.`,
      { help: `Show its records without --attach: acc monitor ${path}` },
    );
  const { uid: owner } = statSync(first);
  if (!isOwn(owner, uid)) throw ofAnother(`The run ${first}`, owner);
  return single(running, `Several runs in ${path} are running`);
}

/** Whether a process of the run writes its records. */
function isRunning(folder: string): boolean {
  const names = readdirSync(folder);
  return names.some((name) => {
    if (/^samples-rank-\d+\.acc$/.test(name))
      return Date.now() - statSync(join(folder, name)).mtimeMs < SILENT_MS;
    if (!/^facts-rank-\d+\.jsonl$/.test(name)) return false;
    const { host, pid } = parseFacts(readFileSync(join(folder, name), 'utf8')) ?? {};
    if (host !== hostname() || pid === undefined || !isAlive(pid)) return false;
    // The number of a process that has ended may be that of another one.
    return !tellsProcesses || recordFoldersOf(pid).includes(realpathSync(folder));
  });
}

function foldersOf(processes: readonly Process[]): string[] {
  return [...new Set(processes.flatMap(({ pid }) => recordFoldersOf(pid)))];
}

function single(folders: readonly string[], message: string): string {
  if (folders.length === 1) return folders[0]!;
  throw new AccError(ATTACH, `${message}:\n${folders.map((folder) => `  ${folder}`).join('\n')}`, {
    help: 'Choose one: acc monitor --attach <folder>',
  });
}

const isOwn = (owner: number, uid: number | undefined): boolean => uid === undefined || owner === uid;

function ofAnother(what: string, owner: number): AccError {
  return new AccError(ATTACH, `${what} belongs to another user (uid ${owner}), who alone may ask it.`, {
    help: 'Run acc monitor as that user.',
  });
}

function requireProcesses(): void {
  if (tellsProcesses) return;
  throw new AccError(ATTACH, 'This system does not tell which files a process writes.', {
    help: 'Give the folder of the run, which the training prints at its start: acc monitor --attach runs/mnist/1',
  });
}
