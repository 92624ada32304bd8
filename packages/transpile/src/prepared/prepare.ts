import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { isUnchanged, stampsOf, type Stamps } from '../stamps.js';
import { bundlePackages, type Bundle } from './bundle.js';
import { isThere, touch } from './kept.js';
import { removeOldSets } from './old-sets.js';
import { makeOwnFolder, readOwn, sha256Of, writeOwn } from './own-files.js';
import { mapOf, scriptOf, type PreparedSet } from './set.js';

/** The packages of a project, prepared for processes. */
export interface Prepared {
  readonly set: PreparedSet;
  /** The modules that names are resolved to, by name. Those of CommonJS modules are missing. */
  readonly modules: Readonly<Record<string, PreparedModule>>;
}

export interface PreparedModule {
  readonly url: string;
  readonly names: readonly string[];
}

interface Note {
  readonly prepared: Prepared;
  readonly stamps: Stamps;
}

export interface Wanted {
  /** The folder with the `node_modules` of the program. */
  readonly project: string;
  /** What the program imports. Names of CommonJS modules are permitted. */
  readonly specifiers: readonly string[];
  /** The cache. */
  readonly folder: string;
  /** Receives the paths of all files that determine the result. */
  readonly seen: Set<string>;
}

/** What processes load first. When sources are tested, it is the built one. */
const LOADER = new URL(import.meta.url.endsWith('.ts') ? '../../dist/rank.js' : './rank.js', import.meta.url);
const OURS = '@acc/';

/**
 * Prepares what the processes of a program load: the ES modules of packages in one script, beside
 * which V8's code for them and for tfjs is kept. The result is in the cache of the user, and programs
 * of a project share it.
 *
 * @returns Undefined if the cache cannot be used, or a package must be loaded in the ordinary way.
 */
export async function preparePackages(wanted: Wanted): Promise<Prepared | undefined> {
  if (!makeOwnFolder(wanted.folder)) return undefined;
  const hasOurs = wanted.specifiers.some((specifier) => specifier.startsWith(OURS));
  if (!hasOurs) return withoutScript(wanted);
  // With all packages of this project, so that its programs share the script.
  const all = [...new Set([...wanted.specifiers, ...installed(wanted.project)])].sort();
  return (await recallOrPrepare(wanted, all)) ?? (await recallOrPrepare(wanted, wanted.specifiers));
}

/** Only V8's code is kept. */
function withoutScript({ folder, project }: Wanted): Prepared | undefined {
  const own = join(folder, nameOf(['no script', project]));
  if (!makeOwnFolder(own)) return undefined;
  return { set: { folder: own, script: undefined, loader: LOADER.href }, modules: {} };
}

async function recallOrPrepare(wanted: Wanted, specifiers: readonly string[]): Promise<Prepared | undefined> {
  const { project, folder, seen } = wanted;
  const note = join(folder, `${nameOf([project, process.version, LOADER.href, ...specifiers])}.json`);
  const known = recall(note);
  const { prepared, stamps } = known ?? (await prepare(wanted, specifiers, note)) ?? {};
  for (const path of Object.keys(stamps ?? {})) seen.add(path);
  return prepared;
}

function recall(file: string): Note | undefined {
  try {
    const note = JSON.parse(readOwn(file)?.toString() ?? '') as Note;
    if (!isUnchanged(note.stamps) || !isThere(note.prepared.set)) return undefined;
    touch([file, note.prepared.set.folder]);
    return note;
  } catch {
    // There is no note, or it has another format.
    return undefined;
  }
}

async function prepare(
  { project, folder, seen }: Wanted,
  specifiers: readonly string[],
  file: string,
): Promise<Note | undefined> {
  const startedAt = Date.now();
  const files = new Set<string>();
  const bundle = await bundlePackages({ specifiers, base: project, seen: files }).catch(() => undefined);
  for (const path of files) seen.add(path);
  const set = bundle && writeSet(folder, bundle);
  if (!set) return undefined;
  const prepared: Prepared = { set, modules: modulesOf(bundle) };
  const stamps = stampsOf(files, startedAt);
  // Without stamps, the next program prepares the packages again.
  if (stamps) writeOwn(file, JSON.stringify({ prepared, stamps } satisfies Note));
  removeOldSets(folder);
  return { prepared, stamps: stamps ?? {} };
}

function modulesOf({ roots, names }: Bundle): Prepared['modules'] {
  const entries = Object.entries(roots).map(([name, url]) => [name, { url, names: names[url]! }] as const);
  return Object.fromEntries(entries);
}

/** Undefined if the cache is not writable. */
function writeSet(folder: string, { script, map }: Bundle): PreparedSet | undefined {
  const sha256 = sha256Of(script);
  const own = join(folder, sha256.slice(0, 24));
  const [path, bytes] = [scriptOf(own), Buffer.byteLength(script)];
  const expected = { bytes, sha256 };
  if (!readOwn(path, expected)) {
    const folders = [own, join(own, 'node_modules'), join(own, 'node_modules', '@acc')];
    if (!folders.every(makeOwnFolder)) return undefined;
    if (!writeOwn(mapOf(own), map) || !writeOwn(path, script)) return undefined;
  }
  return { folder: own, script: expected, loader: LOADER.href };
}

/** The packages of this project that a project has. */
function installed(project: string): string[] {
  const folder = join(project, 'node_modules', '@acc');
  return namesIn(folder)
    .filter((name) => isModule(join(folder, name, 'package.json')))
    .map((name) => OURS + name);
}

function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
}

/** Whether a package is an ES module that can be imported by its name. */
function isModule(manifest: string): boolean {
  try {
    const { type, exports } = JSON.parse(readFileSync(manifest, 'utf8')) as Record<string, unknown>;
    return type === 'module' && Object.hasOwn(Object(exports), '.');
  } catch {
    return false;
  }
}

const nameOf = (parts: readonly string[]): string => sha256Of(JSON.stringify(parts)).slice(0, 24);
