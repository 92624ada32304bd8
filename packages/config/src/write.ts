import { ACCELERATOR_FIELDS } from './accelerator-fields.js';
import { expected, keysBelow, valueFrom, type Field, type FieldValue } from './field.js';
import { LAUNCH_FIELDS } from './launch-fields.js';

/** The values of a file to write, by the names of options. */
export interface ConfigValues {
  readonly launch: Readonly<Record<string, FieldValue>>;
  readonly accelerator: Readonly<Record<string, FieldValue>>;
}

/** A config file with all options: those with a value, and the others as comments. */
export function configText({ launch, accelerator }: ConfigValues): string {
  return [
    '# Options of `acc launch` and of `Accelerator.create`. Lines with # show the defaults. Where nothing',
    '# stands after the colon, write a value when you remove the #.',
    '# The program comes first, then ACC_* variables, then this file. `npx acc env --explain` shows',
    '# the options in effect, and where each comes from.',
    '',
    'launch:',
    ...sectionLines(LAUNCH_FIELDS, launch, ''),
    '',
    'accelerator:',
    ...sectionLines(ACCELERATOR_FIELDS, accelerator, ''),
    '',
  ].join('\n');
}

/** The lines of a record. `prefix` is its path, with a dot at the end. */
function sectionLines(fields: readonly Field[], values: ConfigValues['launch'], prefix: string): string[] {
  const depth = prefix.split('.').length;
  return keysBelow(fields, prefix).flatMap((key) => {
    const name = prefix + key;
    const field = fields.find((one) => one.name === name);
    if (field) return optionLines(field, values[name], { key, depth });
    const inner = sectionLines(fields, values, `${name}.`);
    const isUsed = inner.some((line) => !line.trimStart().startsWith('#'));
    return [`${'  '.repeat(depth)}${isUsed ? '' : '# '}${key}:`, ...inner];
  });
}

function optionLines(
  field: Field,
  value: FieldValue | undefined,
  { key, depth }: { readonly key: string; readonly depth: number },
): string[] {
  const indent = '  '.repeat(depth);
  const comment = `# ${field.meaning}; ${expected(field)}`;
  const fallback = value === undefined ? harmlessDefault(field) : undefined;
  if (fallback !== undefined) return [`${indent}# ${key}: ${yamlOf(fallback)}  ${comment}`];
  const start = value === undefined ? `# ${key}:` : `${key}: ${yamlOf(value)}`;
  return [`${indent}${start}  ${comment} (default: ${field.fallback})`];
}

/** The records that a program can give with defaults only, and change nothing. */
const HARMLESS = ['dataLoader', 'collective'];

/**
 * The default as a value. Undefined if what holds without the option is not one value, or if the
 * option in a file has an effect with every value: `mesh.tensor: 1` lays ranks out, any option of
 * `checkpoint` makes preemption save.
 */
function harmlessDefault(field: Field): FieldValue | undefined {
  const [record, ...inner] = field.name.split('.');
  if (inner.length > 0 && !HARMLESS.includes(record!)) return undefined;
  const isWords = field.kind === 'texts' || (field.kind === 'text' && /\s/.test(field.fallback));
  return isWords ? undefined : valueFrom(field, field.fallback);
}

/** A text is quoted unless it reads as a text in every version of YAML. */
function yamlOf(value: FieldValue): string {
  const isPlain =
    typeof value === 'string' &&
    /^[a-z_][\w./-]*$/i.test(value) &&
    !/^(true|false|null|yes|no|on|off|y|n)$/i.test(value);
  return isPlain ? value : JSON.stringify(value);
}
