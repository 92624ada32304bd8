import { createHash, randomBytes } from 'node:crypto';
import { mkdirSync, readFileSync, realpathSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { nearestNodeModules } from './nearest.js';
import type { PreparedSettings } from './prepared/environment.js';
import { isThere, touch } from './prepared/kept.js';
import type { PreparedSet } from './prepared/set.js';
import { isUnchanged, stampsOf, type Stamps } from './stamps.js';

interface Remembered {
  /** The transpiled program. */
  readonly path: string;
  readonly stamps: Stamps;
  /** The packages that it was transpiled for. */
  readonly set: PreparedSet | undefined;
}

/** A program, as its processes will run it. */
export interface Start {
  readonly script: string;
  /** The working directory. */
  readonly cwd: string;
  readonly settings: PreparedSettings;
}

/**
 * Returns the transpiled program of an earlier call, if no file that it depends on has changed, and
 * no file has been added that would change it. This avoids loading esbuild, which takes longer than
 * everything else here.
 */
export function recallProgram(start: Start): string | undefined {
  const file = noteOf(start);
  if (file === undefined) return undefined;
  try {
    const { path, stamps, set } = JSON.parse(readFileSync(file, 'utf8')) as Remembered;
    if (!isUnchanged(stamps) || (set && !isThere(set))) return undefined;
    touch([dirname(path), file, ...(set ? [set.folder] : [])]);
    return statSync(path).isFile() ? path : undefined;
  } catch {
    // There is no note, or it has another format.
    return undefined;
  }
}

interface Read {
  /** All files that it depends on. */
  readonly files: Iterable<string>;
  readonly startedAt: number;
}

/**
 * Remembers a program for {@link recallProgram}. Does nothing if a file has changed since
 * `startedAt`, because the old content may have been read.
 *
 * @param startedAt Milliseconds since 1970, taken before the first file was read.
 */
export function rememberProgram(
  start: Start,
  { path, files, set, startedAt }: Pick<Remembered, 'path' | 'set'> & Read,
): void {
  const file = noteOf(start);
  if (file === undefined) return;
  const ours = [fileURLToPath(import.meta.url), createRequire(import.meta.url).resolve('esbuild')];
  const stamps = stampsOf([...files, ...ours], startedAt);
  if (!stamps) return;
  const draft = `${file}.${randomBytes(8).toString('hex')}`;
  try {
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(draft, JSON.stringify({ path, stamps, set } satisfies Remembered));
    renameSync(draft, file);
  } catch {
    // The next call transpiles the program again.
    rmSync(draft, { force: true });
  }
}

/** The path of the note with the files that a script depends on. */
function noteOf({ script, cwd, settings }: Start): string | undefined {
  const program = realpathSync(script);
  const nodeModules = nearestNodeModules(program);
  if (nodeModules === undefined) return undefined;
  const { TSX_TSCONFIG_PATH = '' } = process.env;
  const version = process.versions.node;
  const asked = JSON.stringify([script, program, cwd, version, TSX_TSCONFIG_PATH, settings.folder]);
  const name = createHash('sha256').update(asked).digest('hex').slice(0, 24);
  return join(nodeModules, '.cache', 'acc', 'programs', `${name}.json`);
}
