import { AccError, nearestName, showValue } from '@acc/contract';

/** A value that a file or a variable can give. */
export type FieldValue = string | number | boolean | readonly string[];

/** The kind of values that an option takes. */
export type FieldKind =
  | { readonly kind: 'choice'; readonly choices: readonly (string | number)[] }
  | { readonly kind: 'whole'; readonly least: number; readonly words?: readonly string[] }
  | { readonly kind: 'number' }
  | { readonly kind: 'switch' }
  | { readonly kind: 'text' }
  | { readonly kind: 'texts' };

/** An option that files and variables can give. */
export type Field = FieldKind & {
  /** The path of the option: `dataLoader.splitBatches`. */
  readonly name: string;
  /** One line for people. */
  readonly meaning: string;
  /** The default of the option, as text. */
  readonly fallback: string;
};

/** The keys of the record at `prefix`, which ends with a dot, or is '' for that of all options. */
export function keysBelow(fields: readonly Field[], prefix: string): string[] {
  const below = fields.filter(({ name }) => name.startsWith(prefix));
  return [...new Set(below.map(({ name }) => name.slice(prefix.length).split('.')[0]!))];
}

/** Whether the value is one that the option takes. */
export function isValue(field: Field, value: unknown): value is FieldValue {
  switch (field.kind) {
    case 'choice':
      return field.choices.includes(value as never);
    case 'whole':
      return (
        (Number.isSafeInteger(value) && (value as number) >= field.least) ||
        (field.words?.includes(value as string) ?? false)
      );
    case 'number':
      return typeof value === 'number' && Number.isFinite(value) && value > 0;
    case 'switch':
      return typeof value === 'boolean';
    case 'text':
      return typeof value === 'string' && value !== '';
    case 'texts':
      return Array.isArray(value) && value.every((one) => typeof one === 'string' && one !== '');
  }
}

/** The value that a variable or an option of a command line spells. Undefined if it is none. */
export function valueFrom(field: Field, text: string): FieldValue | undefined {
  const value = spelled(field, text.trim());
  return isValue(field, value) ? value : undefined;
}

function spelled(field: Field, text: string): unknown {
  switch (field.kind) {
    case 'choice':
      return field.choices.find((choice) => String(choice) === text);
    case 'whole':
    case 'number':
      return text !== '' && Number.isFinite(Number(text)) ? Number(text) : text;
    case 'switch':
      return { true: true, '1': true, false: false, '0': false }[text.toLowerCase()];
    case 'text':
      return text;
    case 'texts':
      return text
        .split(',')
        .map((one) => one.trim())
        .filter(Boolean);
  }
}

/** The error for a value that the option does not take. @param where The place of the value. */
export function invalidValue(where: string, field: Field, value: unknown): AccError {
  const nearest =
    field.kind === 'choice' && typeof value === 'string'
      ? nearestName(value, field.choices.map(String))
      : undefined;
  return new AccError('ACC_INVALID_OPTION', `${where} is ${showValue(value)}; expected ${expected(field)}.`, {
    help: nearest === undefined ? field.meaning : `Did you mean '${nearest}'?`,
    details: { where, name: field.name, value },
  });
}

/** Describes the values that the option takes, for messages. */
export function expected(field: Field): string {
  switch (field.kind) {
    case 'choice':
      return `one of ${field.choices.join(', ')}`;
    case 'whole':
      return `a whole number from ${field.least}${field.words ? `, or ${field.words.join(', ')}` : ''}`;
    case 'number':
      return 'a number above 0';
    case 'switch':
      return 'true or false';
    case 'text':
      return 'a string';
    case 'texts':
      return 'a list of strings';
  }
}
