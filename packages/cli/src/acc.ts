import { oldNode } from '@acc/platform/node-version';

/** The exit code for what the user has to change. */
const USAGE_ERROR = 2;
/** The arguments that work everywhere, and show what is wrong. */
const SHOW_THE_MACHINE = ['env', '--version', '-V'];

const problem = oldNode(process.versions);
if (problem && !SHOW_THE_MACHINE.includes(process.argv[2]!)) {
  process.stderr.write(`acc: ${problem.code}: ${problem.message}\n→ ${problem.help}\n`);
  process.exitCode = USAGE_ERROR;
} else {
  // Modules of the command may not load in a Node.js that is too old, so they are imported after the check.
  await import('./run-command.js');
}
