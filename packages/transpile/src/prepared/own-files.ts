import { createHash, randomBytes } from 'node:crypto';
import {
  closeSync,
  constants,
  fstatSync,
  lstatSync,
  mkdirSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
  type Stats,
} from 'node:fs';

/** The content that a file must have. */
export interface Expected {
  readonly bytes: number;
  /** In hexadecimal. */
  readonly sha256: string;
}

/** The bits of a mode that let others write. */
const OTHERS_WRITE = 0o022;

/** Whether only the user of this process, and root, can change a file or folder. */
function isOwn({ uid, mode }: Stats): boolean {
  // Windows has neither, and its temporary and home folders are those of one user.
  return process.getuid === undefined || (uid === process.getuid() && (mode & OTHERS_WRITE) === 0);
}

/** Creates a folder of this user. False if that is not possible, or if others can write to it. */
export function makeOwnFolder(path: string): boolean {
  try {
    mkdirSync(path, { recursive: true, mode: 0o700 });
    const stat = lstatSync(path);
    return stat.isDirectory() && isOwn(stat);
  } catch {
    return false;
  }
}

/**
 * Reads a file that only this user can have written. Undefined if there is none, if others could
 * write it, or if its content is not as expected.
 */
export function readOwn(path: string, expected?: Expected): Buffer | undefined {
  let file: number | undefined;
  try {
    file = openSync(path, constants.O_RDONLY | (constants.O_NOFOLLOW ?? 0));
    const stat = fstatSync(file);
    if (!stat.isFile() || !isOwn(stat) || (expected && stat.size !== expected.bytes)) return undefined;
    const content = readFileSync(file);
    return !expected || sha256Of(content) === expected.sha256 ? content : undefined;
  } catch {
    return undefined;
  } finally {
    if (file !== undefined) closeSync(file);
  }
}

/** Writes a file at once, so that no process reads a part of it. False if that is not possible. */
export function writeOwn(path: string, content: string | Buffer): boolean {
  const draft = `${path}.${randomBytes(8).toString('hex')}`;
  try {
    writeFileSync(draft, content, { flag: 'wx', mode: 0o600 });
    renameSync(draft, path);
    return true;
  } catch {
    rmSync(draft, { force: true });
    return false;
  }
}

export function sha256Of(content: string | Buffer): string {
  return createHash('sha256').update(content).digest('hex');
}
