import { Argument, type Command } from 'commander';
import { SHELLS } from './shells.js';

/** Adds the command `completion` to the program. */
export function addCompletionCommand(program: Command): void {
  program
    .command('completion')
    .description('print a script that completes commands, options and values in a shell')
    .addArgument(new Argument('<shell>', 'the shell').choices(SHELLS))
    .action(async (shell: (typeof SHELLS)[number]) => {
      const { completionScript } = await import('./script.js');
      process.stdout.write(completionScript(program, shell));
    });
}
