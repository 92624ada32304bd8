import { relative } from 'node:path';
import { parseArgs } from 'node:util';
import { isAccError } from '@acc/contract';
import { createTrackerPackage } from './create.js';

const USAGE = `npm create acc-tracker <name> [-- --dir <folder>]

Makes the package acc-tracker-<name>: a tracker for Accelerate for TensorFlow.js that works and
passes the conformance tests, to be changed into one for your service.`;

/** The exit code for an invalid command line. */
const USAGE_ERROR = 2;

/**
 * Runs the command line. Prints the user's errors without a stack, and throws others.
 *
 * @returns The exit code.
 */
export function main(args: readonly string[]): number {
  try {
    const { values, positionals } = parseArgs({
      args: [...args],
      options: { dir: { type: 'string' }, help: { type: 'boolean', short: 'h' } },
      allowPositionals: true,
    });
    const [name] = positionals;
    if (values.help || name === undefined || positionals.length > 1) {
      console.log(USAGE);
      return values.help ? 0 : USAGE_ERROR;
    }
    const created = createTrackerPackage({ name, ...(values.dir !== undefined && { dir: values.dir }) });
    const folder = relative(process.cwd(), created.dir) || '.';
    console.log(
      `Made ${created.packageName} in ${folder}:\n${created.files.map((file) => `  ${file}`).join('\n')}`,
    );
    console.log(
      `\nNext:\n  cd ${folder}\n  npm install\n  npm test\n\nThen connect your service in src/store.ts.`,
    );
    return 0;
  } catch (error) {
    const isUsage = (error as NodeJS.ErrnoException).code?.startsWith('ERR_PARSE_ARGS') ?? false;
    if (!isAccError(error) && !isUsage) throw error;
    console.error(`create-acc-tracker: ${(error as Error).message}`);
    return USAGE_ERROR;
  }
}
