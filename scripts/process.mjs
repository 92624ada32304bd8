import { spawn } from 'node:child_process';
import { constants } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** The repository's root, where every command runs. */
export const root = dirname(dirname(fileURLToPath(import.meta.url)));

/** A tool that npm installed: `tool('turbo')`. */
export const tool = (name) => join(root, 'node_modules', '.bin', name);

/**
 * The compiler that checks and writes types: TypeScript 7, which is native and several times faster. The
 * package `typescript` is the last with the API that eslint and the rules of the architecture use.
 */
export const tsc = join(root, 'node_modules', 'typescript-7', 'bin', 'tsc');

/**
 * Runs a command to its end in the repository's root.
 *
 * @param {{env?: object, onOutput?: (text: string) => void}} options onOutput: gets the standard
 * output instead of the console.
 * @returns {Promise<number>} its exit code; 128 + the signal's number if a signal ended it; 127 if
 * the command does not exist.
 */
export function run(command, args, { env = {}, onOutput } = {}) {
  return new Promise((resolve) => {
    const child = spawn(command, args, {
      cwd: root,
      env: { ...process.env, ...env },
      stdio: onOutput ? ['inherit', 'pipe', 'inherit'] : 'inherit',
    });
    // The terminal also sends Ctrl-C to the child, which decides when to end. Other signals are
    // passed on.
    const ignore = () => undefined;
    const handOn = (signal) => child.kill(signal);
    process.on('SIGINT', ignore).on('SIGTERM', handOn).on('SIGHUP', handOn);
    const end = (code) => {
      process.off('SIGINT', ignore).off('SIGTERM', handOn).off('SIGHUP', handOn);
      resolve(code);
    };
    child.stdout?.setEncoding('utf8').on('data', onOutput);
    child.on('error', (error) => {
      console.error(`${command}: ${error.message}`);
      end(127);
    });
    child.on('close', (code, signal) => end(code ?? 128 + constants.signals[signal]));
  });
}

/**
 * Runs a script's main function. An error is shown with its next step, or with its stack if it is a
 * defect.
 */
export async function runMain(main) {
  try {
    process.exitCode = (await main()) ?? 0;
  } catch (error) {
    console.error(`\n${error.help === undefined ? error.stack : `${error.code}: ${error.message}`}`);
    process.exitCode = 1;
  }
}
