import { Script } from 'node:vm';
import { readOwn, sha256Of, writeOwn } from './own-files.js';

/** A file whose code is kept. */
export interface Source {
  /** Its path. */
  readonly name: string;
  /** Changes with its content. */
  readonly version: string;
}

interface Entry extends Source {
  readonly bytes: number;
}

interface Head {
  /** How many processes added what they compiled. */
  readonly processes: number;
  readonly entries: readonly Entry[];
}

export type Compiled = (this: unknown, ...args: unknown[]) => unknown;

/** Later processes of the same version compile little that the first ones did not. */
const MOST_PROCESSES = 3;
const HASH_BYTES = 64;

/**
 * V8's code of scripts, in one file: the hash of the rest, a line of JSON, and the code of each
 * script. V8 compares only the length of a source, so the entries have the versions of their sources. V8
 * itself refuses the code of another version or of other options.
 */
export class CodeCache {
  readonly #path: string;
  readonly #found = new Map<string, { readonly version: string; readonly code: Buffer }>();
  readonly #scripts = new Map<string, { readonly version: string; readonly script: Script }>();
  #processes: number;
  #isComplete = true;

  constructor(path: string) {
    this.#path = path;
    const { head, codes } = readFrom(path);
    head.entries.forEach(({ name, version }, index) =>
      this.#found.set(name, { version, code: codes[index]! }),
    );
    this.#processes = head.processes;
  }

  /**
   * Compiles a function with these parameters, which does not call `import()`.
   *
   * @throws SyntaxError
   */
  compile({ name, version }: Source, body: string, parameters: string): Compiled {
    const prefix = `(function (${parameters}) {`;
    const found = this.#found.get(name);
    const isSame = found?.version === version;
    const script = new Script(`${prefix}${body}\n})`, {
      filename: name,
      // The places in stack traces are those in the file.
      columnOffset: -prefix.length,
      cachedData: isSame ? found.code : undefined,
    });
    if (!isSame || script.cachedDataRejected) this.#isComplete = false;
    this.#scripts.set(name, { version, script });
    return script.runInThisContext() as Compiled;
  }

  /** Writes what is compiled now, if that is new. */
  record(): void {
    if (this.#scripts.size === 0 || (this.#isComplete && this.#processes >= MOST_PROCESSES)) return;
    const all = new Map(this.#found);
    for (const [name, { version, script }] of this.#scripts)
      all.set(name, { version, code: script.createCachedData() });
    this.#processes = this.#isComplete ? this.#processes + 1 : 1;
    const head: Head = {
      processes: this.#processes,
      entries: [...all].map(([name, { version, code }]) => ({ name, version, bytes: code.length })),
    };
    const codes = [...all.values()].map(({ code }) => code);
    const rest = Buffer.concat([Buffer.from(`${JSON.stringify(head)}\n`), ...codes]);
    this.#isComplete = true;
    writeOwn(this.#path, Buffer.concat([Buffer.from(sha256Of(rest)), rest]));
  }
}

function readFrom(path: string): { head: Head; codes: Buffer[] } {
  const content = readOwn(path);
  const rest = content?.subarray(HASH_BYTES);
  if (!content || !rest || sha256Of(rest) !== content.subarray(0, HASH_BYTES).toString('latin1'))
    return { head: { processes: 0, entries: [] }, codes: [] };
  const lineEnd = rest.indexOf('\n');
  const head = JSON.parse(rest.subarray(0, lineEnd).toString()) as Head;
  let at = lineEnd + 1;
  const codes = head.entries.map(({ bytes }) => rest.subarray(at, (at += bytes)));
  return { head, codes };
}
