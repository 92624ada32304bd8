import { AccError, nearestName } from '@acc/contract';
import { isMap, isScalar, LineCounter, parseDocument, type Node, type YAMLMap } from 'yaml';
import { ACCELERATOR_FIELDS } from './accelerator-fields.js';
import { invalidValue, isValue, keysBelow, type Field, type FieldValue } from './field.js';
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

/** The values of the text of a config file. */
export function parseConfigText(text: string, path: string): FileContent {
  const lines = new LineCounter();
  const document = parseDocument(text, { lineCounter: lines });
  const [problem] = document.errors;
  if (problem) {
    throw new AccError('ACC_CONFIG_INVALID', `${path} is not valid YAML: ${problem.message}`, {
      help: 'Correct it, or write a new one with: npx acc config',
      cause: problem,
      details: { path },
    });
  }
  const placeOf = (node: unknown) => `${path}:${lines.linePos((node as Node | null)?.range?.[0] ?? 0).line}`;
  const found = { launch: new Map<string, FileValue>(), accelerator: new Map<string, FileValue>() };
  if (document.contents === null) return { path, ...found };
  for (const [section, value] of entriesOf(document.contents, 'the file', Object.keys(SECTIONS), placeOf)) {
    const name = section as keyof typeof SECTIONS;
    readSection({ node: value, fields: SECTIONS[name], into: found[name], placeOf }, '');
  }
  return { path, ...found };
}

interface Section {
  readonly node: unknown;
  readonly fields: readonly Field[];
  readonly into: Map<string, FileValue>;
  readonly placeOf: (node: unknown) => string;
}

/** Reads a record. `prefix` is its path, with a dot at the end. */
function readSection({ node, fields, into, placeOf }: Section, prefix: string): void {
  // A section whose options are all commented out.
  if (isScalar(node) && node.value === null) return;
  const known = keysBelow(fields, prefix);
  for (const [key, value] of entriesOf(node, prefix.slice(0, -1) || 'options', known, placeOf)) {
    const name = prefix + key;
    const field = fields.find((one) => one.name === name);
    if (!field) readSection({ node: value, fields, into, placeOf }, `${name}.`);
    else into.set(name, valueOf(field, value, placeOf(value)));
  }
}

function valueOf(field: Field, node: unknown, place: string): FileValue {
  const value = (node as Node | null)?.toJSON() as unknown;
  if (!isValue(field, value)) throw invalidValue(`${place}: ${field.name}`, field, value);
  return { value, place };
}

/** The entries of a record with known keys. */
function entriesOf(
  node: unknown,
  what: string,
  known: readonly string[],
  placeOf: (node: unknown) => string,
): [string, unknown][] {
  if (!isMap(node)) {
    throw new AccError('ACC_INVALID_OPTION', `${placeOf(node)}: ${what}: expected options by name.`, {
      help: `Known names: ${known.join(', ')}.`,
    });
  }
  return (node as YAMLMap).items.map(({ key, value }) => {
    const name = String((key as { value?: unknown }).value ?? key);
    if (known.includes(name)) return [name, value];
    const nearest = nearestName(name, known);
    throw new AccError('ACC_UNKNOWN_OPTION', `${placeOf(key)}: ${what}: unknown option '${name}'.`, {
      help: nearest ? `Did you mean '${nearest}'?` : `Known options: ${known.join(', ')}.`,
      details: { key: name, nearest, known },
    });
  });
}
