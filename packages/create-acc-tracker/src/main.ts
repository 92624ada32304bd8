import { relative } from 'node:path';
import { parseArgs } from 'node:util';
import { AccError, isAccError, nearestName } from '@acc/contract';
import { createTrackerPackage } from './create.js';

const USAGE = `npm create acc-tracker <name> [-- --dir <folder>]

Makes the package acc-tracker-<name>: a tracker for Accelerate for TensorFlow.js that works and
passes the conformance tests, to be changed into one for your service.`;

const FORM = 'Write: npm create acc-tracker my-service -- --dir my-folder. The option is not required.';

/** The exit code for an invalid command line. */
const USAGE_ERROR = 2;

/**
 * Runs the command line. Prints the user's errors without a stack, and throws others.
 *
 * @returns The exit code.
 */
export function main(args: readonly string[]): number {
  try {
    const { values, positionals } = parsed(args);
    if (values.help) {
      console.log(USAGE);
      return 0;
    }
    const created = createTrackerPackage({
      name: onlyName(positionals),
      ...(values.dir !== undefined && { dir: values.dir }),
    });
    const folder = relative(process.cwd(), created.dir) || '.';
    console.log(
      `Made ${created.packageName} in ${folder}:\n${created.files.map((file) => `  ${file}`).join('\n')}`,
    );
    console.log(
      `\nNext:\n  cd ${folder}\n  npm install\n  npm test\n\nThen connect your service in src/store.ts.`,
    );
    return 0;
  } catch (error) {
    if (!isAccError(error)) throw error;
    console.error(`create-acc-tracker: ${error.code}: ${error.message}`);
    return USAGE_ERROR;
  }
}

const OPTIONS = { dir: { type: 'string' }, help: { type: 'boolean', short: 'h' } } as const;

/** @throws AccError `ACC_UNKNOWN_OPTION`, `ACC_BAD_OPTION`. */
function parsed(args: readonly string[]) {
  try {
    return parseArgs({ args: [...args], options: OPTIONS, allowPositionals: true });
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    if (!code?.startsWith('ERR_PARSE_ARGS')) throw error;
    const [, option] = /^Unknown option '(.*?)'/.exec(message) ?? [];
    if (option === undefined)
      throw new AccError('ACC_BAD_OPTION', '--dir needs a folder, and --help no value.', {
        help: FORM,
        cause: error,
      });
    const nearest = nearestName(option, ['--dir', '--help']);
    throw new AccError('ACC_UNKNOWN_OPTION', `There is no option ${option}.`, {
      help: nearest ? `Did you mean ${nearest}?` : FORM,
      cause: error,
    });
  }
}

/** @throws AccError `ACC_USAGE`. */
function onlyName([name, ...others]: readonly string[]): string {
  if (name === undefined)
    throw new AccError('ACC_USAGE', 'The name of the service is missing.', { help: FORM });
  if (others.length === 0) return name;
  const surplus = others.map((other) => `'${other}'`).join(', ');
  const tooMany = others.length === 1 ? 'is one too many' : 'are too many';
  throw new AccError('ACC_USAGE', `Give one name: ${surplus} ${tooMany}.`, { help: FORM });
}
