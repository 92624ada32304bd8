import type { Argument, Command, Option } from 'commander';
import { withSubcommands } from '../examples.js';

/** The values that may follow an option or stand for an argument. */
export type Values =
  | { readonly kind: 'words' | 'words or file'; readonly words: readonly string[] }
  | { readonly kind: 'file' | 'any' };

export interface OptionWords {
  /** `-n`, `--nproc`. */
  readonly names: readonly string[];
  readonly meaning: string;
  /** Undefined: it takes no value. */
  readonly values: Values | undefined;
}

/** The words that complete a command. */
export interface CommandWords {
  /** The words after `acc`: [] for the program itself. */
  readonly path: readonly string[];
  readonly meaning: string;
  readonly subcommands: readonly string[];
  readonly options: readonly OptionWords[];
  /** Undefined: it takes no arguments. */
  readonly argument: Values | undefined;
}

const HELP: OptionWords = { names: ['-h', '--help'], meaning: 'display help for command', values: undefined };

/** Names that an option takes beside files, by its long name: `--cluster`. */
export type NamedValues = Readonly<Record<string, readonly string[]>>;

/** The words of the program and of each command, from their definitions. */
export function wordsOf(program: Command, named: NamedValues): CommandWords[] {
  return withSubcommands(program).map((command) => ({
    path: pathOf(command),
    meaning: command.description(),
    subcommands: [...command.commands.map((each) => each.name()), ...(command.parent ? [] : ['help'])],
    options: [...command.options.map((option) => optionWords(option, named)), HELP],
    argument: argumentValues(command.registeredArguments),
  }));
}

function pathOf(command: Command): string[] {
  return command.parent ? [...pathOf(command.parent), command.name()] : [];
}

function optionWords(option: Option, named: NamedValues): OptionWords {
  const names = [option.short, option.long].filter((name) => name !== undefined);
  const meaning = option.description;
  if (!option.required && !option.optional) return { names, meaning, values: undefined };
  const words = named[option.long ?? ''];
  if (words) return { names, meaning, values: { kind: 'words or file', words } };
  return { names, meaning, values: valuesOf(option.argChoices, /<(.*)>/.exec(option.flags)?.[1]) };
}

/** Arguments are files, unless they are choices. */
function argumentValues([first]: readonly Argument[]): Values | undefined {
  if (!first) return undefined;
  return first.argChoices ? { kind: 'words', words: first.argChoices } : { kind: 'file' };
}

function valuesOf(choices: readonly string[] | undefined, placeholder = ''): Values {
  if (choices) return { kind: 'words', words: choices };
  return /^(file|dir|path)\b/i.test(placeholder) ? { kind: 'file' } : { kind: 'any' };
}
