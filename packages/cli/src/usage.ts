import { AccError, nearestName } from '@acc/contract';
import type { Command, CommanderError } from 'commander';
import { withProgramOptions } from './launch/after-script.js';
import { oursFor } from './launch/other-spellings.js';

const CODES: Readonly<Record<string, string>> = {
  'commander.unknownOption': 'ACC_UNKNOWN_OPTION',
  'commander.invalidArgument': 'ACC_BAD_OPTION',
  'commander.optionMissingArgument': 'ACC_BAD_OPTION',
};

/**
 * Makes the program and its commands throw wrong arguments as an AccError that names the help of
 * the command.
 */
export function throwUsageErrors(program: Command): void {
  const commands = program.commands.flatMap((command) => [command, ...command.commands]);
  for (const command of [program, ...commands]) {
    command.exitOverride((error) => {
      // Help was requested, or shown because no command was given.
      if (error.exitCode === 0 || error.code === 'commander.help') throw error;
      throw usageError(error, command);
    });
  }
}

/** Converts an error of commander. The help is its suggestion, or the command that shows the help. */
function usageError(error: CommanderError, command: Command): AccError {
  const [message = '', ...suggestion] = plainWords(error.message).split('\n');
  const code = CODES[error.code] ?? 'ACC_USAGE';
  const [, option = ''] = /^unknown option '([^'=]*)/.exec(message) ?? [];
  const name = fullName(command);
  const suggested = suggestion.join(' ').replace(/^\(|\)$/g, '');
  const help =
    (command.name() === 'launch' ? oursFor(option) : undefined) ??
    nearestChoice(message) ??
    ([suggested, option && forProgram(command)].filter(Boolean).join(' ') ||
      `npx ${name} --help lists the arguments and options.`);
  return new AccError(code, `${message.charAt(0).toUpperCase()}${message.slice(1)}.`.replace(/\.\.$/, '.'), {
    help,
    cause: error,
  });
}

/** The advice for an option that may be one of the program. Undefined: the command runs none. */
function forProgram(command: Command): string | undefined {
  if (command.name() !== 'scale-study') return undefined;
  const { rawArgs } = command.parent as Command & { readonly rawArgs: readonly string[] };
  const words = rawArgs.slice(rawArgs.indexOf('scale-study') + 1);
  return `Options of the program stand after --: npx acc scale-study ${withProgramOptions(words, command.options)}`;
}

/** The message in the words of this program, with a suggestion on a line of its own. */
function plainWords(message: string): string {
  return message
    .replace(/^error: /, '')
    .replace(
      /^command-argument value ('[^']*') is invalid for argument ('[^']*')/,
      'argument $2: $1 is invalid',
    )
    .replace(/^required option ('[^']*') not specified/, 'missing required option $1')
    .replace(/ (Did you mean [^?]*\?)$/, '\n$1');
}

/** The choice that was probably meant, if the value of an option is none of its choices. */
function nearestChoice(message: string): string | undefined {
  const [, given] = / '(?:[\w.]+=)?([^'=]+)' is invalid/.exec(message) ?? [];
  const [, choices] = /(?:Allowed choices are|Expected one of) ([^.]+)\./.exec(message) ?? [];
  const nearest = given && choices && nearestName(given, choices.split(', '));
  return nearest && `Did you mean '${nearest}'?`;
}

/** `acc setup tfjs-node`. */
export function fullName(command: Command): string {
  return command.parent ? `${fullName(command.parent)} ${command.name()}` : command.name();
}

/**
 * Checks the command before commander sees it. For `--help` of an unknown command, commander would
 * show the help of the program.
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
