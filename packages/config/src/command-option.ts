import type { FieldKind } from './field.js';

/** The kinds of values that config files cannot give. */
type KindOutsideFiles =
  /** A number of hosts, or a range of them: `1:4`. */
  | { readonly kind: 'hosts'; readonly least: number }
  /** Numbers of ranks: `0,2`, or `all`. */
  | { readonly kind: 'ranks' };

/**
 * All facts about an option of a command: from them come its flag, its type, its check, its default, its
 * place in config files, and its row in tables of documents.
 *
 * These are plain records and no zod schema, because every `acc launch` reads them: loading zod takes
 * longer than all other modules of the command.
 */
export type CommandOption = (FieldKind | KindOutsideFiles) & {
  /** The flag as `--help` shows it: `-n, --nproc <N>`. */
  readonly flag: string;
  /** The heading of its group in `--help`. */
  readonly group: string;
  /** One line for people: in `--help`, in config files and in tables. */
  readonly help: string;
  /** The value that holds without the option. */
  readonly default?: string | number | boolean;
  /** A text in place of the default, if what holds without the option is not one value. */
  readonly otherwise?: string;
  /** The unit of the value. */
  readonly unit?: 's';
  /**
   * Config files can give the option. A record is for an option that takes fewer values there than on the
   * command line.
   */
  readonly inFile?: true | (FieldKind & { readonly help: string });
};

/**
 * The type of the value of an option. It has no helper types, because generated documents would show their
 * names in place of the values.
 */
// prettier-ignore
type ValueOf<O> =
  O extends { readonly kind: 'choice'; readonly choices: readonly (infer Choice)[] } ? Choice
  : O extends { readonly kind: 'whole'; readonly words: readonly (infer Word)[] } ? number | Word
  : O extends { readonly kind: 'whole' | 'number' } ? number
  : O extends { readonly kind: 'switch' } ? boolean
  : O extends { readonly kind: 'text' } ? string
  : O extends { readonly kind: 'texts' } ? readonly string[]
  : O extends { readonly kind: 'hosts' } ? number | string
  : O extends { readonly kind: 'ranks' } ? 'all' | readonly number[]
  : never;

/** The options by name, as a program gives them. Comments on the records are those of the options. */
export type OptionsOf<T> = { readonly [Name in keyof T]?: ValueOf<T[Name]> };

/** The same with defaults: an option without one may be undefined. */
export type CompleteOptions<T> = {
  readonly [Name in keyof T]:
    ValueOf<T[Name]> | (T[Name] extends { readonly default: unknown } ? never : undefined);
};

/** Fills in the defaults. */
export function withDefaults<T extends Readonly<Record<string, CommandOption>>>(
  table: T,
  given: OptionsOf<T>,
): CompleteOptions<T> {
  const values = Object.entries(table).map(([name, option]) => [
    name,
    given[name] === undefined ? option.default : given[name],
  ]);
  return Object.fromEntries(values) as CompleteOptions<T>;
}

/** The default as text for people. */
export function defaultText({ default: value, otherwise, unit }: CommandOption): string {
  if (otherwise !== undefined) return otherwise;
  if (value === undefined) return 'none';
  if (value === false) return 'off';
  return unit === undefined ? String(value) : `${value} ${unit}`;
}
