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

/**
 * The size, inode and time of each file that a program depends on. Null for a path at which there
 * must be no file.
 */
type Stamps = Readonly<Record<string, string | null>>;

interface Remembered {
  /** The transpiled program. */
  readonly path: string;
  readonly stamps: Stamps;
}

/**
 * Returns the transpiled program of an earlier call, if no file that it depends on has changed, and
 * no file has been added that would change it. This avoids loading esbuild, which takes longer than
 * everything else here.
 */
export function recallProgram(script: string, cwd: string): string | undefined {
  const file = noteOf(script, cwd);
  if (file === undefined) return undefined;
  try {
    const { path, stamps } = JSON.parse(readFileSync(file, 'utf8')) as Remembered;
    if (!Object.entries(stamps).every(([name, stamp]) => stampOf(name) === stamp)) return undefined;
    const now = new Date();
    // Updates the times of used files, so that they are not removed.
    for (const used of [dirname(path), file]) utimesSync(used, now, now);
    return statSync(path).isFile() ? path : undefined;
  } catch {
    // There is no note, or it has another format.
    return undefined;
  }
}

/**
 * Remembers a program for {@link recallProgram}. Does nothing if a file has changed since
 * `startedAt`, because the old content may have been read.
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
  // File system clocks may be some milliseconds late.
  if (all.some((name) => changedAt(name) > startedAt - 100)) return;
  const stamps = Object.fromEntries(all.map((name) => [name, stampOf(name)]));
  const draft = `${file}.${randomBytes(8).toString('hex')}`;
  try {
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(draft, JSON.stringify({ path, stamps } satisfies Remembered));
    renameSync(draft, file);
  } catch {
    // The next call transpiles the program again.
    rmSync(draft, { force: true });
  }
}

/** The path of the note with the files that a script depends on. */
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
  // For a folder only its existence matters.
  return stat.isDirectory() ? 'folder' : `${stat.size} ${stat.ino} ${stat.mtimeMs}`;
}

function changedAt(path: string): number {
  const stat = statOf(path);
  return stat?.isFile() ? stat.mtimeMs : 0;
}

const statOf = (path: string) => statSync(path, { throwIfNoEntry: false });
