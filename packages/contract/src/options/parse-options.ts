import { checkKeys, nearestName } from './check-keys.js';
import { AccError } from '../errors/errors.js';
import { isPlainRecord } from '../records/records.js';

/** The part of a zod object schema that is used. */
export interface OptionsSchema<T> {
  readonly shape: Readonly<Record<string, unknown>>;
  safeParse(
    options: unknown,
  ):
    | { readonly success: true; readonly data: T }
    | { readonly success: false; readonly error: { readonly issues: readonly OptionIssue[] } };
}

/** The part of a zod issue that is used. */
export interface OptionIssue {
  readonly code?: string | undefined;
  readonly path: readonly PropertyKey[];
  readonly message: string;
  readonly expected?: string;
  readonly values?: readonly unknown[];
  readonly origin?: string;
  readonly minimum?: number | bigint;
  readonly maximum?: number | bigint;
  readonly inclusive?: boolean | undefined;
  readonly keys?: readonly string[];
  /** The issues of each alternative of a union. */
  readonly errors?: readonly (readonly OptionIssue[])[];
}

export interface ParseOptions {
  /** Options with secret values. Messages do not contain them. */
  readonly secret?: readonly string[];
  /** Advice for an invalid value, by the name of the option. */
  readonly help?: Readonly<Record<string, string>>;
}

/**
 * Validates options and fills in defaults.
 *
 * @param where The options as the user wrote them: `AcceleratorOptions`, `ddp`.
 * @throws AccError `ACC_UNKNOWN_OPTION`; `ACC_INVALID_OPTION` with the given and the expected
 * value.
 */
export function parseOptions<T>(
  where: string,
  schema: OptionsSchema<T>,
  options: object,
  { secret = [], help = {} }: ParseOptions = {},
): T {
  checkKeys(where, options, Object.keys(schema.shape));
  const result = schema.safeParse(options);
  if (result.success) return result.data;
  const issue = innermost(result.error.issues[0]!);
  const { path } = issue;
  const name = [where, ...path].map(String).join('.');
  const value = path.reduce<unknown>((inner, key) => (inner as Record<PropertyKey, unknown>)?.[key], options);
  if (issue.code === 'unrecognized_keys')
    checkKeys(name, value as object, knownKeys(schema as InnerSchema, path, issue));
  const isSecret = secret.includes(String(path[0]));
  const given = value === undefined ? 'is missing' : isSecret ? 'is not valid' : `is ${showValue(value)}`;
  throw new AccError('ACC_INVALID_OPTION', `${name} ${given}; expected ${expectation(issue)}.`, {
    details: { path },
    help:
      correction(issue, value) ??
      path.map((key) => help[String(key)]).find(Boolean) ??
      otherwise(schema as InnerSchema, path),
  });
}

/** The correction of a typing error. Undefined if the value is none. */
function correction({ values, expected }: OptionIssue, value: unknown): string | undefined {
  if (typeof value !== 'string') return undefined;
  if (expected === 'number' && Number(value)) return `Write ${value} without quotes.`;
  const nearest = values && nearestName(value, values.map(String));
  return nearest && `Did you mean '${nearest}'?`;
}

/** The part of a zod schema in which {@link knownKeys} looks for the schema of a value. */
interface InnerSchema {
  readonly shape?: Readonly<Record<PropertyKey, InnerSchema>>;
  /** Of an optional value, and one with a default. */
  unwrap?(): InnerSchema;
  safeParse?(value: unknown): { readonly success: boolean; readonly data?: unknown };
  /** Of a union. */
  readonly options?: readonly InnerSchema[];
}

/** The advice for a value that no other fits: what holds if the option is left out. */
function otherwise(schema: InnerSchema, path: readonly PropertyKey[]): string {
  const [option] = schemasAt(schema, path);
  const absent = option?.safeParse?.(undefined);
  if (!absent?.success) return 'Correct it.';
  return absent.data === undefined
    ? 'Correct it, or leave it out.'
    : `Correct it, or leave it out: the default is ${showValue(absent.data)}.`;
}

/** The schemas that the value at a path may have. */
function schemasAt(schema: InnerSchema, path: readonly PropertyKey[]): readonly InnerSchema[] {
  return path.reduce<readonly InnerSchema[]>(
    (schemas, key) => schemas.flatMap(objectsIn).flatMap(({ shape }) => shape?.[key] ?? []),
    [schema],
  );
}

/** The keys of an object in options, at the place of an issue that names an unknown one. */
function knownKeys(schema: InnerSchema, path: readonly PropertyKey[], { keys = [] }: OptionIssue): string[] {
  const known = schemasAt(schema, path)
    .flatMap(objectsIn)
    .flatMap(({ shape }) => Object.keys(shape ?? {}));
  return [...new Set(known)].filter((key) => !keys.includes(key));
}

/** The object schemas of which a value may be. */
function objectsIn(schema: InnerSchema): InnerSchema[] {
  if (schema.shape) return [schema];
  if (schema.options) return schema.options.flatMap(objectsIn);
  return schema.unwrap ? objectsIn(schema.unwrap()) : [];
}

/**
 * The issue that says most. Of a union that is the one inside of the alternative whose type the value
 * has; otherwise the union itself, with the values of all alternatives.
 */
function innermost(issue: OptionIssue): OptionIssue {
  if (!issue.errors) return issue;
  const firsts = issue.errors.map(([first]) => first!);
  const inside = firsts.find(({ path, code }) => path.length > 0 || code === 'unrecognized_keys');
  if (inside) return innermost({ ...inside, path: [...issue.path, ...inside.path] });
  return { ...issue, values: firsts.flatMap(({ values = [] }) => values) };
}

/** Formats a value for a message, briefly and on one line. */
export function showValue(value: unknown): string {
  if (typeof value === 'string') return shortened(JSON.stringify(value), '"');
  if (typeof value === 'function') return 'a function';
  if (typeof value !== 'object' || value === null) return String(value);
  if (!Array.isArray(value) && !isPlainRecord(value))
    return `an object of the class ${value.constructor?.name ?? 'unknown'}`;
  try {
    return shortened(JSON.stringify(value), Array.isArray(value) ? ']' : '}');
  } catch {
    return Array.isArray(value) ? 'an array' : 'an object';
  }
}

const MAX_SHOWN = 60;

function shortened(text: string, end: string): string {
  return text.length > MAX_SHOWN ? `${text.slice(0, MAX_SHOWN)}…${end}` : text;
}

const TYPES: Readonly<Record<string, string>> = {
  number: 'a number',
  int: 'a whole number',
  string: 'a string',
  boolean: 'true or false',
  array: 'an array',
  object: 'an object',
  record: 'an object',
  function: 'a function',
};

function expectation(issue: OptionIssue): string {
  const { code, message, expected, values, errors, origin, minimum, maximum, inclusive } = issue;
  if (errors) return errors.map(([first]) => expectation(first!)).join(' or ');
  if (code === 'invalid_type' && expected !== undefined) return TYPES[expected] ?? expected;
  if (code === 'invalid_value' && values) return oneOf(values);
  const bound = minimum ?? maximum;
  if ((code === 'too_small' || code === 'too_big') && bound !== undefined) {
    if (origin === 'string' || origin === 'array')
      return `${TYPES[origin]} that is not ${lengthFault(issue)}`;
    const side = minimum === undefined ? ['less than', 'at most'] : ['greater than', 'at least'];
    return `a number ${side[inclusive ? 1 : 0]} ${bound}`;
  }
  return message.replace(/^expected /, '').replace(/\.$/, '');
}

function lengthFault({ minimum, maximum }: OptionIssue): string {
  if (minimum === undefined) return `longer than ${maximum}`;
  return minimum === 1 ? 'empty' : `shorter than ${minimum}`;
}

function oneOf(values: readonly unknown[]): string {
  const shown = values.map((value) => (typeof value === 'string' ? `'${value}'` : String(value)));
  return shown.length === 1 ? shown[0]! : `one of ${shown.join(', ')}`;
}
