import { createHash, randomBytes } from 'node:crypto';
import {
  mkdirSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { nearestNodeModules } from './nearest.js';

/** Of each file that a program was made of its size, inode and time; null where there must be no file. */
type Stamps = Readonly<Record<string, string | null>>;

interface Remembered {
  /** The transpiled program. */
  readonly path: string;
  readonly stamps: Stamps;
}

/**
 * The transpiled program of an earlier call, if every file that it was made of is as it was then, and no file has come that
 * would take part. So esbuild need not be loaded, which takes longer than all else here.
 */
export function recallProgram(script: string, cwd: string): string | undefined {
  const file = noteOf(script, cwd);
  if (file === undefined) return undefined;
  try {
    const { path, stamps } = JSON.parse(readFileSync(file, 'utf8')) as Remembered;
    if (!Object.entries(stamps).every(([name, stamp]) => stampOf(name) === stamp)) return undefined;
    const now = new Date();
    // What is used is not removed.
    for (const used of [dirname(path), file]) utimesSync(used, now, now);
    return statSync(path).isFile() ? path : undefined;
  } catch {
    // Nothing is remembered, or not what this reads.
    return undefined;
  }
}

/**
 * Remembers what {@link recallProgram} gives later. A file that has changed since `startedAt` may have been read before the
 * change, and is left for the next call.
 *
 * @param startedAt Milliseconds since 1970, taken before the first file was read.
 */
export function rememberProgram(
  script: string,
  cwd: string,
  { path, files, startedAt }: { path: string; files: Iterable<string>; startedAt: number },
): void {
  const file = noteOf(script, cwd);
  if (file === undefined) return;
  const ours = [fileURLToPath(import.meta.url), createRequire(import.meta.url).resolve('esbuild')];
  const all = [...new Set([...files, ...ours])];
  // Clocks of file systems are some milliseconds behind.
  if (all.some((name) => changedAt(name) > startedAt - 100)) return;
  const stamps = Object.fromEntries(all.map((name) => [name, stampOf(name)]));
  const draft = `${file}.${randomBytes(8).toString('hex')}`;
  try {
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(draft, JSON.stringify({ path, stamps } satisfies Remembered));
    renameSync(draft, file);
  } catch {
    // It is found again by esbuild.
    rmSync(draft, { force: true });
  }
}

/** Where it is written what a script was made of. */
function noteOf(script: string, cwd: string): string | undefined {
  const program = realpathSync(script);
  const nodeModules = nearestNodeModules(program);
  if (nodeModules === undefined) return undefined;
  const { TSX_TSCONFIG_PATH = '' } = process.env;
  const asked = JSON.stringify([script, program, cwd, process.versions.node, TSX_TSCONFIG_PATH]);
  const name = createHash('sha256').update(asked).digest('hex').slice(0, 24);
  return join(nodeModules, '.cache', 'acc', 'programs', `${name}.json`);
}

function stampOf(path: string): string | null {
  const stat = statOf(path);
  if (!stat) return null;
  // Folders are asked for only whether they are there.
  return stat.isDirectory() ? 'folder' : `${stat.size} ${stat.ino} ${stat.mtimeMs}`;
}

function changedAt(path: string): number {
  const stat = statOf(path);
  return stat?.isFile() ? stat.mtimeMs : 0;
}

const statOf = (path: string) => statSync(path, { throwIfNoEntry: false });
