import { AccError, nearestName } from '@acc/contract';
import { ACCELERATOR_FIELDS } from './accelerator-fields.js';
import { invalidValue, valueFrom, type Field, type FieldValue } from './field.js';
import type { Variables } from './find-file.js';

/** Variables that are no options of the Accelerator. */
const OTHERS = [
  ...['ACC_CONFIG_FILE', 'ACC_COMMAND', 'ACC_COMMAND_LINE'],
  ...['ACC_JOB_TOKEN', 'ACC_CACHE_DIR', 'ACC_LIBTORCH'],
];

/** The variable of an option: `dataLoader.splitBatches` is `ACC_DATA_LOADER_SPLIT_BATCHES`. */
export function variableOf({ name }: Pick<Field, 'name'>): string {
  return `ACC_${name
    .replace(/[A-Z]/g, (letter) => `_${letter}`)
    .replaceAll('.', '_')
    .toUpperCase()}`;
}

/**
 * The options that variables give. An empty variable counts as absent.
 *
 * @throws AccError `ACC_INVALID_OPTION` for a value that the option does not take;
 * `ACC_UNKNOWN_OPTION` for a variable whose name is nearly that of an option.
 */
export function readVariables(env: Variables): ReadonlyMap<string, FieldValue> {
  refuseMisspelt(env);
  const found = new Map<string, FieldValue>();
  for (const field of ACCELERATOR_FIELDS) {
    const variable = variableOf(field);
    const text = env[variable];
    if (text === undefined || text === '') continue;
    const value = valueFrom(field, text);
    if (value === undefined) throw invalidValue(variable, field, text);
    found.set(field.name, value);
  }
  return found;
}

/** Variables of other tools may begin with ACC_, so only near misses are errors. */
function refuseMisspelt(env: Variables): void {
  const known = ACCELERATOR_FIELDS.map(variableOf);
  for (const [name, value] of Object.entries(env)) {
    if (!name.startsWith('ACC_') || !value || known.includes(name) || OTHERS.includes(name)) continue;
    const nearest = nearestName(name, [...known, ...OTHERS], () => 2);
    if (nearest === undefined) continue;
    throw new AccError('ACC_UNKNOWN_OPTION', `The variable ${name} gives no option.`, {
      help: `Did you mean ${nearest}? Otherwise unset it.`,
      details: { name, nearest },
    });
  }
}
