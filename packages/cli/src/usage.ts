import { AccError, nearestName } from '@acc/contract';
import type { Command, CommanderError } from 'commander';
import { oursFor } from './launch/other-spellings.js';

const CODES: Readonly<Record<string, string>> = {
  'commander.unknownOption': 'ACC_UNKNOWN_OPTION',
  'commander.invalidArgument': 'ACC_BAD_OPTION',
  'commander.optionMissingArgument': 'ACC_BAD_OPTION',
};

/** Has the program, and each of its commands, throw what it finds wrong with its arguments as an AccError that names its own help. */
export function throwUsageErrors(program: Command): void {
  for (const command of [program, ...program.commands]) {
    command.exitOverride((error) => {
      // Help was asked for, or shown because there was no command.
      if (error.exitCode === 0 || error.code === 'commander.help') throw error;
      throw usageError(error, command);
    });
  }
}

/** commander's message, with its suggestion, or where to look, as our help. */
function usageError(error: CommanderError, command: Command): AccError {
  const [message = '', ...suggestion] = error.message.replace(/^error: /, '').split('\n');
  const code = CODES[error.code] ?? 'ACC_USAGE';
  const [, option = ''] = /^unknown option '([^'=]*)/.exec(message) ?? [];
  const name = command.parent ? `acc ${command.name()}` : 'acc';
  const help =
    (command.name() === 'launch' ? oursFor(option) : undefined) ??
    (suggestion.join(' ').replace(/^\(|\)$/g, '') || `${name} --help lists the arguments and options.`);
  return new AccError(code, `${message.charAt(0).toUpperCase()}${message.slice(1)}.`.replace(/\.\.$/, '.'), {
    help,
    cause: error,
  });
}

/**
 * Before commander sees it, which gives the program's own help where a command that doesn't exist is asked for its.
 *
 * @throws AccError `ACC_UNKNOWN_COMMAND`.
 */
export function requireCommand(program: Command, [first, second]: readonly string[]): void {
  const name = first === 'help' ? second : first;
  if (name === undefined || name.startsWith('-')) return;
  const names = program.commands.map((command) => command.name());
  if (names.includes(name)) return;
  const nearest = nearestName(name, names);
  throw new AccError('ACC_UNKNOWN_COMMAND', `There is no command '${name}'.`, {
    help: `${nearest ? `Did you mean ${nearest}? ` : ''}The commands are ${names.join(', ')}.`,
    details: { name, nearest },
  });
}
