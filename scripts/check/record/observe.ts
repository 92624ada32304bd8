// What recorded processes (process.cjs) executed, as functions of the sources.
import { existsSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { join, relative } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import type { Sources } from '../source/sources.js';
import { keyOf } from '../source/units.js';
import { mappedScript, type MappedScript, type Source } from './positions.js';

/** The record that a process wrote. */
export interface ProcessRecord {
  readonly id: string;
  readonly parent?: string;
  /** The absolute path of the test file that the process ran. */
  readonly testFile?: string;
  readonly scripts: readonly ScriptRecord[];
}

interface ScriptRecord {
  readonly url: string;
  /** The offsets of the executed functions. */
  readonly starts: readonly number[];
  /** The file with the text as it ran. Undefined if that is the file of `url`. */
  readonly text?: string;
}

interface ReadScript {
  readonly text: string;
  /** Undefined if it has no source map. */
  readonly script: MappedScript | undefined;
  /** Functions by the offset at which V8 says that they begin: path of the source, and key. */
  readonly found: Map<number, readonly (readonly [path: string, key: string])[]>;
}

export interface Executed {
  /** The keys of the functions by the path of their source. */
  readonly functions: Map<string, Set<string>>;
  /** Programs and helpers outside packages. */
  readonly programs: Set<string>;
}

/** vitest's getters of exports, which no source has. */
const GETTER = '() => { try { return ';
const PROGRAM = /^(tests|examples|bench|site)\//;

/** The records that processes have written to a folder so far. */
export function readProcesses(folder: string): ProcessRecord[] {
  if (!existsSync(folder)) return [];
  return readdirSync(folder)
    .filter((name) => name.endsWith('.json'))
    .map((name) => JSON.parse(readFileSync(join(folder, name), 'utf8')) as ProcessRecord);
}

/** The processes of each test file: that of the test, and those which it started. */
export function byTestFile(records: readonly ProcessRecord[]): Map<string, ProcessRecord[]> {
  const known = new Map(records.map((record) => [record.id, record]));
  const testOf = (record: ProcessRecord | undefined): string | undefined =>
    record && (record.testFile ?? testOf(known.get(record.parent ?? '')));
  const tests = new Map<string, ProcessRecord[]>();
  for (const record of records) {
    const test = testOf(record);
    if (test !== undefined) tests.set(test, [...(tests.get(test) ?? []), record]);
  }
  return tests;
}

/** Reads scripts once for all processes that ran them. */
export class Observer {
  readonly #root: string;
  readonly #folder: string;
  readonly #sources: Sources;
  readonly #scripts = new Map<string, ReadScript | undefined>();

  /** @param folder Where the processes write. */
  constructor(root: string, folder: string, sources: Sources) {
    this.#root = root;
    this.#folder = folder;
    this.#sources = sources;
  }

  observe(records: readonly ProcessRecord[]): Executed {
    const executed: Executed = { functions: new Map(), programs: new Set() };
    for (const { scripts } of records) for (const script of scripts) this.#add(script, executed);
    return executed;
  }

  /** Removes the records, not the texts, which later processes share. */
  forget(records: readonly ProcessRecord[]): void {
    for (const { id } of records) rmSync(join(this.#folder, `${id}.json`), { force: true });
  }

  #add(record: ScriptRecord, { functions, programs }: Executed): void {
    const own = this.#fromRoot(record.url);
    if (own !== undefined && PROGRAM.test(own)) programs.add(own);
    const read = this.#read(record);
    for (const path of read?.script?.sources ?? []) {
      const source = relative(this.#root, path);
      if (PROGRAM.test(source)) programs.add(source);
    }
    for (const start of read ? record.starts : []) {
      for (const [path, key] of this.#functionsAt(read!, start)) {
        functions.set(path, (functions.get(path) ?? new Set()).add(key));
      }
    }
  }

  /** By path and key. Many processes execute the same functions of a script, so each is looked up once. */
  #functionsAt(read: ReadScript, start: number): readonly (readonly [path: string, key: string])[] {
    const known = read.found.get(start);
    if (known) return known;
    const sourceOf = (path: string): Source | undefined => this.#sources.source(relative(this.#root, path));
    const isOurs = start !== 0 && !read.text.startsWith(GETTER, start);
    const units = isOurs ? (read.script?.functionsAt(start, sourceOf) ?? []) : [];
    const found = units.map(([{ path }, unit]) => [path, keyOf(unit)] as const);
    read.found.set(start, found);
    return found;
  }

  #fromRoot(url: string): string | undefined {
    const path = relative(this.#root, fileURLToPath(url.split('?')[0]!));
    return path.startsWith('..') ? undefined : path;
  }

  #read(record: ScriptRecord): ReadScript | undefined {
    const url = this.#inCheckout(record.url.split('?')[0]!);
    const path = record.text === undefined ? fileURLToPath(url) : join(this.#folder, record.text);
    if (!this.#scripts.has(path)) this.#scripts.set(path, readScript(path, url));
    return this.#scripts.get(path);
  }

  /** A copy of a package that a test has installed, as the built package in the checkout. */
  #inCheckout(url: string): string {
    const [, name, chunk] = /\/node_modules\/(?:@acc\/)?([^/]+)\/dist\/(.+)$/.exec(url) ?? [];
    if (name === undefined) return url;
    return pathToFileURL(join(this.#root, 'packages', name, 'dist', chunk!)).href;
  }
}

function readScript(path: string, url: string): ReadScript | undefined {
  if (!existsSync(path)) return undefined;
  const text = readFileSync(path, 'utf8');
  const readMap = (map: string): string | undefined => {
    const beside = fileURLToPath(map);
    return existsSync(beside) ? readFileSync(beside, 'utf8') : undefined;
  };
  return { text, script: mappedScript(text, url, readMap), found: new Map() };
}
