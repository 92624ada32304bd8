import { isAccError } from '@acc/contract';
import { Command, CommanderError } from 'commander';
import pc from 'picocolors';
import { addConfigCommand } from './config/command.js';
import { addConvertConfigCommand } from './convert-config/command.js';
import { addEnvCommand } from './environment/command.js';
import { addEstimateMemoryCommand } from './estimate-memory/command.js';
import { addLaunchCommand } from './launch/command.js';
import { addMergeWeightsCommand } from './merge-weights/command.js';
import { addTestCommand } from './self-check/command.js';
import { addSetupCommand } from './setup/command.js';
import { requireCommand, throwUsageErrors } from './usage.js';
import { cliVersion } from './version.js';

/** The exit code for an invalid command line, or for a wrong file or name on it. */
const USAGE_ERROR = 2;

/**
 * Runs the command line `acc`. Prints the user's errors without a stack, and throws others.
 *
 * @param args The command line without `node` and the program.
 * @returns The exit code: 0; 2 if an error was printed; that of the job for `acc launch`.
 */
export async function main(args: readonly string[]): Promise<number> {
  let exitCode = 0;
  const program = createProgram((code) => (exitCode = code));
  try {
    requireCommand(program, args);
    await program.parseAsync(args, { from: 'user' });
    return exitCode;
  } catch (error) {
    // Help was requested, or shown because no command was given.
    if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : USAGE_ERROR;
    if (!isAccError(error)) throw error;
    const { red } = pc.createColors(process.stderr.isTTY && pc.isColorSupported);
    process.stderr.write(`${red('acc:')} ${error.code}: ${error.message}\n`);
    return USAGE_ERROR;
  }
}

function createProgram(setExitCode: (code: number) => void): Command {
  const program = new Command('acc')
    .description('Accelerate for TensorFlow.js: train on every core and host')
    .version(cliVersion())
    .enablePositionalOptions()
    // Errors are printed in one place and format.
    .configureOutput({ outputError: () => undefined })
    .allowExcessArguments(false);
  addLaunchCommand(program, setExitCode);
  addConfigCommand(program);
  addConvertConfigCommand(program);
  addEnvCommand(program);
  addEstimateMemoryCommand(program);
  addMergeWeightsCommand(program);
  addTestCommand(program, setExitCode);
  addSetupCommand(program);
  throwUsageErrors(program);
  return program;
}
