import { readdirSync, readFileSync, readlinkSync, statSync } from 'node:fs';
import { dirname } from 'node:path';

/** A process of this machine, by what Linux tells about it. */
export interface Process {
  readonly pid: number;
  readonly parent: number;
  readonly uid: number;
}

/** Linux tells which files a process has open. */
export const tellsProcesses = process.platform === 'linux';

const STEPS_FILE = /\/steps-rank-\d+\.acc$/;

/** All processes. One that ends meanwhile is left out. */
export function allProcesses(): Process[] {
  return readdirSync('/proc').flatMap((name) => {
    const found = /^\d+$/.test(name) ? processOf(Number(name)) : undefined;
    return found ? [found] : [];
  });
}

/** Undefined: there is none. */
export function processOf(pid: number): Process | undefined {
  try {
    const { uid } = statSync(`/proc/${pid}`);
    // The name of the program is in brackets, and may have any letters.
    const [, parent] = /\) \S (\d+)/.exec(readFileSync(`/proc/${pid}/stat`, 'utf8')) ?? [];
    return { pid, parent: Number(parent), uid };
  } catch {
    return undefined;
  }
}

/** A process and all that it has started, and those have. */
export function familyOf(pid: number, all: readonly Process[]): Process[] {
  const family = all.filter((each) => each.pid === pid);
  for (const member of family) family.push(...all.filter(({ parent }) => parent === member.pid));
  return family;
}

/** The folders of the records that a process writes. None: of another user, too. */
export function recordFoldersOf(pid: number): string[] {
  try {
    const folder = `/proc/${pid}/fd`;
    const files = readdirSync(folder).map((name) => targetOf(`${folder}/${name}`));
    return files.filter((path) => STEPS_FILE.test(path)).map((path) => dirname(path));
  } catch {
    return [];
  }
}

function targetOf(link: string): string {
  try {
    return readlinkSync(link);
  } catch {
    return '';
  }
}

/** Whether a process of this machine runs, also one of another user. */
export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}

/** Whether a process is stopped: by Ctrl-Z, by a debugger, or by SIGSTOP. */
export function isStopped(pid: number): boolean {
  try {
    return /\) [Tt] /.test(readFileSync(`/proc/${pid}/stat`, 'utf8'));
  } catch {
    return false;
  }
}
