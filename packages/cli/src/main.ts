import { AccError, isAccError } from '@acc/contract';
import { Command, CommanderError } from 'commander';
import pc from 'picocolors';
import { addEnvCommand } from './environment/command.js';
import { addLaunchCommand } from './launch/command.js';
import { addMergeWeightsCommand } from './merge-weights/command.js';
import { addSetupCommand } from './setup/command.js';
import { cliVersion } from './version.js';

/** Exit code of a command line, or of what it names, that can't be right. */
const USAGE_ERROR = 2;

/**
 * Runs the command line `acc`. Errors of the user are printed without a stack; others are thrown.
 *
 * @param args The command line without `node` and the program.
 * @returns The exit code: 0, 2 for an error that is printed, or the job's of `acc launch`.
 */
export async function main(args: readonly string[]): Promise<number> {
  let exitCode = 0;
  const program = createProgram((code) => (exitCode = code));
  try {
    await program.parseAsync(args, { from: 'user' });
    return exitCode;
  } catch (error) {
    // Help was asked for, or shown because there was no command.
    if (error instanceof CommanderError && error.code === 'commander.help') return USAGE_ERROR;
    if (error instanceof CommanderError && error.exitCode === 0) return 0;
    const known = error instanceof CommanderError ? usageError(error) : error;
    if (!isAccError(known)) throw error;
    const { red } = pc.createColors(process.stderr.isTTY && pc.isColorSupported);
    process.stderr.write(`${red('acc:')} ${known.code}: ${known.message}\n`);
    return USAGE_ERROR;
  }
}

function createProgram(setExitCode: (code: number) => void): Command {
  const program = new Command('acc')
    .description('Accelerate for TensorFlow.js: train on every core and host')
    .version(cliVersion())
    .enablePositionalOptions()
    // Errors are printed in one place, in one form.
    .configureOutput({ outputError: () => undefined })
    .exitOverride()
    .allowExcessArguments(false);
  addLaunchCommand(program, setExitCode);
  addEnvCommand(program);
  addMergeWeightsCommand(program);
  addSetupCommand(program);
  return program;
}

const CODES: Readonly<Record<string, string>> = {
  'commander.unknownOption': 'ACC_UNKNOWN_OPTION',
  'commander.unknownCommand': 'ACC_UNKNOWN_COMMAND',
  'commander.invalidArgument': 'ACC_BAD_OPTION',
  'commander.optionMissingArgument': 'ACC_BAD_OPTION',
};

/** commander's message, with its suggestion as our help. */
function usageError(error: CommanderError): AccError {
  const [message = '', ...suggestion] = error.message.replace(/^error: /, '').split('\n');
  const code = CODES[error.code] ?? 'ACC_USAGE';
  const help = suggestion.join(' ').replace(/^\(|\)$/g, '') || 'acc --help lists the commands and options.';
  return new AccError(code, `${message.charAt(0).toUpperCase()}${message.slice(1)}.`.replace(/\.\.$/, '.'), {
    help,
    cause: error,
  });
}
