import { AccError, isAccError } from '@acc/contract';
import { wrapSteps } from '@acc/platform/uncaught';
import { CommanderError } from 'commander';
import pc from 'picocolors';
import { createProgram } from './program.js';
import { requireCommand } from './usage.js';

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
  } catch (thrown) {
    const error = isWithoutFolder(thrown) ? withoutFolder(thrown) : thrown;
    // Help was requested, or shown because no command was given.
    if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : USAGE_ERROR;
    if (!isAccError(error)) throw error;
    const { red } = pc.createColors(process.stderr.isTTY && pc.isColorSupported);
    process.stderr.write(`${red('acc:')} ${error.code}: ${wrapSteps(error.message, process.stderr)}\n`);
    return USAGE_ERROR;
  }
}

/** Whether the working directory was removed. */
function isWithoutFolder(error: unknown): boolean {
  const { code, syscall } = Object(error) as NodeJS.ErrnoException;
  return code === 'ENOENT' && (syscall === 'uv_cwd' || syscall === 'process.cwd');
}

function withoutFolder(cause: unknown): AccError {
  return new AccError('ACC_WORKING_FOLDER', 'The working directory does not exist any more.', {
    help: 'Change to another directory, for example: cd ~',
    cause,
  });
}
