import { resolve } from 'node:path';
import { AccError, isAccError, nearestName } from '@acc/contract';
import {
  isMap,
  isScalar,
  LineCounter,
  parseDocument,
  type Node,
  type YAMLMap,
  type YAMLParseError,
} from 'yaml';
import { ACCELERATOR_FIELDS } from './accelerator-fields.js';
import { invalidValue, isValue, keysBelow, type Field, type FieldValue } from './field.js';
import { PROJECT_FILE, workingFolder } from './find-file.js';
import { LAUNCH_FIELDS } from './launch-fields.js';

/** A value of a file. */
export interface FileValue {
  readonly value: FieldValue;
  /** `file:line`. */
  readonly place: string;
}

/** The values of a config file by the names of options. */
export interface FileContent {
  readonly path: string;
  readonly launch: ReadonlyMap<string, FileValue>;
  readonly accelerator: ReadonlyMap<string, FileValue>;
}

const SECTIONS = { launch: LAUNCH_FIELDS, accelerator: ACCELERATOR_FIELDS } as const;

/** The values of the text of a config file. An error names all of its mistakes. */
export function parseConfigText(text: string, path: string): FileContent {
  const lines = new LineCounter();
  const document = parseDocument(text, { lineCounter: lines });
  if (document.errors.length > 0) throw notYaml(path, document.errors);
  const placeOf = (node: unknown) => `${path}:${lines.linePos((node as Node | null)?.range?.[0] ?? 0).line}`;
  const found = { launch: new Map<string, FileValue>(), accelerator: new Map<string, FileValue>() };
  if (document.contents === null) return { path, ...found };
  const mistakes: AccError[] = [];
  const file = { node: document.contents, what: 'the file', known: Object.keys(SECTIONS), placeOf, mistakes };
  for (const [section, value] of entriesOf(file)) {
    const name = section as keyof typeof SECTIONS;
    readSection({ node: value, fields: SECTIONS[name], into: found[name], placeOf, mistakes }, '');
  }
  if (mistakes.length > 0) throw mistakenFile(path, mistakes);
  return { path, ...found };
}

/** The mistakes, one of a line: others at the same place are consequences. */
function notYaml(path: string, problems: readonly YAMLParseError[]): AccError {
  const [problem] = problems;
  const firsts = problems.filter(
    ({ linePos }, i) => problems.findIndex((other) => other.linePos?.[0].line === linePos?.[0].line) === i,
  );
  const reasons = firsts.map(({ message }) => message.trimEnd());
  return new AccError('ACC_CONFIG_INVALID', `${path} is not valid YAML: ${reasons.join('\n')}`, {
    help: `Correct it, or replace it with: ${replacing(path)}`,
    cause: problem,
    details: { path },
  });
}

/** One mistake as it is. Several have a line each, with their next steps. */
function mistakenFile(path: string, mistakes: readonly AccError[]): AccError {
  const [first, ...others] = mistakes;
  if (others.length === 0) return first!;
  const code = others.every((one) => one.code === first!.code) ? first!.code : 'ACC_CONFIG_INVALID';
  const lines = mistakes.map(({ message }) => `  ${message.replace('\n→ ', ' ')}`);
  return new AccError(code, `${path} has ${mistakes.length} mistakes:\n${lines.join('\n')}`, {
    help: `Correct these lines, or replace the file with: ${replacing(path)}`,
    details: { path, mistakes: mistakes.map((one) => one.toJSON()) },
  });
}

/** The command that writes this file anew, whatever file a plain `acc config` writes. */
function replacing(path: string): string {
  const isOfProject = path === PROJECT_FILE || path === resolve(workingFolder(), PROJECT_FILE);
  if (isOfProject) return 'npx acc config --force';
  const word = /^[\w./-]+$/.test(path) ? path : `'${path.replaceAll("'", `'\\''`)}'`;
  return `npx acc config --force --config-file ${word}`;
}

interface Section {
  readonly node: unknown;
  readonly fields: readonly Field[];
  readonly into: Map<string, FileValue>;
  readonly placeOf: (node: unknown) => string;
  /** Receives the mistakes. */
  readonly mistakes: AccError[];
}

/** Reads a record. `prefix` is its path, with a dot at the end. */
function readSection({ node, fields, into, placeOf, mistakes }: Section, prefix: string): void {
  // A section whose options are all commented out.
  if (isScalar(node) && node.value === null) return;
  const known = keysBelow(fields, prefix);
  const what = prefix.slice(0, -1) || 'options';
  for (const [key, value] of entriesOf({ node, what, known, placeOf, mistakes })) {
    const name = prefix + key;
    const field = fields.find((one) => one.name === name);
    if (!field) readSection({ node: value, fields, into, placeOf, mistakes }, `${name}.`);
    else noting(mistakes, () => into.set(name, valueOf(field, value, placeOf(value))));
  }
}

function valueOf(field: Field, node: unknown, place: string): FileValue {
  const value = (node as Node | null)?.toJSON() as unknown;
  if (!isValue(field, value)) throw invalidValue(`${place}: ${field.name}`, field, value);
  return { value, place };
}

/** Adds an AccError that `read` throws to the mistakes. */
function noting(mistakes: AccError[], read: () => void): void {
  try {
    read();
  } catch (error) {
    if (!isAccError(error)) throw error;
    mistakes.push(error);
  }
}

interface Entries extends Pick<Section, 'node' | 'placeOf' | 'mistakes'> {
  readonly what: string;
  readonly known: readonly string[];
}

/** The entries of a record with known keys. */
function entriesOf({ node, what, known, placeOf, mistakes }: Entries): [string, unknown][] {
  if (!isMap(node)) {
    const message = `${placeOf(node)}: ${what}: expected options by name.`;
    const help = `Known names: ${known.join(', ')}.`;
    mistakes.push(new AccError('ACC_INVALID_OPTION', message, { help }));
    return [];
  }
  return (node as YAMLMap).items.flatMap(({ key, value }): [string, unknown][] => {
    const name = String((key as { value?: unknown }).value ?? key);
    if (known.includes(name)) return [[name, value]];
    const nearest = nearestName(name, known);
    const message = `${placeOf(key)}: ${what}: unknown option '${name}'.`;
    const help =
      belowSection(name, what) ??
      (nearest ? `Did you mean '${nearest}'?` : `Known options: ${known.join(', ')}.`);
    mistakes.push(
      new AccError('ACC_UNKNOWN_OPTION', message, { help, details: { key: name, nearest, known } }),
    );
    return [];
  });
}

/** The correction for an option that stands beside the sections. */
function belowSection(name: string, what: string): string | undefined {
  const [section] = Object.entries(SECTIONS).find(([, fields]) => keysBelow(fields, '').includes(name)) ?? [];
  return what === 'the file' && section !== undefined ? `Put it below '${section}:'.` : undefined;
}
