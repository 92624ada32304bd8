import { defaultText, type CommandOption } from '@acc/config';
import { InvalidArgumentError, Option, type Command } from 'commander';

/** Adds the flags of a table of options to the command. */
export function addFlags(command: Command, table: Readonly<Record<string, CommandOption>>): Command {
  return Object.values(table).reduce((all, option) => all.addOption(flagOf(option)), command);
}

/** The name of a flag in messages: the first that it has. */
export function nameOfFlag({ flag }: Pick<CommandOption, 'flag'>): string {
  return flag.split(/[ ,]/)[0]!;
}

function flagOf(option: CommandOption): Option {
  const flag = new Option(option.flag, helpOf(option)).helpGroup(`${option.group}:`);
  switch (option.kind) {
    case 'choice':
      return flag.choices(option.choices.map(String));
    case 'whole':
      return flag.argParser((text) => parseWhole(text, option));
    case 'hosts':
      return flag.argParser(parseHosts);
    case 'ranks':
      return flag.argParser(parseRanks);
    default:
      return flag;
  }
}

/** The line of `--help`. commander must not know the default, because config files come before it. */
function helpOf(option: CommandOption): string {
  const isShown = option.default !== undefined || option.otherwise !== undefined;
  return isShown && option.kind !== 'switch'
    ? `${option.help} (default: ${defaultText(option)})`
    : option.help;
}

function parseWhole(text: string, { least, words = [] }: CommandOption & { kind: 'whole' }): number | string {
  if (words.includes(text)) return text;
  if (/^\d+$/.test(text) && Number(text) >= least) return Number(text);
  const others = words.length > 0 ? `, or ${words.join(', ')}` : '';
  throw new InvalidArgumentError(`Expected a whole number from ${least}${others}.`);
}

function parseHosts(text: string): string {
  if (/^\d+(:\d+)?$/.test(text)) return text;
  throw new InvalidArgumentError('Expected a whole number, or the fewest and the most hosts: 1:4.');
}

function parseRanks(text: string): 'all' | number[] {
  if (text === 'all') return text;
  if (/^\d+(,\d+)*$/.test(text)) return text.split(',').map(Number);
  throw new InvalidArgumentError("Expected 'all' or ranks with commas: 0,2.");
}
