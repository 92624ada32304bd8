import { LAUNCH_OPTIONS, workingFolder, type OptionsOf } from '@acc/config';
import type { Command } from 'commander';
import { addConfigOptions, withConfigFile, type ConfigFlags } from '../config/launch-flags.js';
import { optionsAfterScript } from './after-script.js';
import { badOption } from './check-values.js';
import { PRINT_OPTIONS } from './cluster/print-options.js';
import { addFlags } from './flags.js';
import { shellWords } from './shell-word.js';

type LaunchFlags = ConfigFlags & OptionsOf<typeof LAUNCH_OPTIONS> & OptionsOf<typeof PRINT_OPTIONS>;

/** Adds the command `launch` to the program. `setExitCode` receives the exit code of the job. */
export function addLaunchCommand(program: Command, setExitCode: (code: number) => void): void {
  const command = program
    .command('launch')
    .description('run a TypeScript or JavaScript program on several processes')
    .usage('[options] <script> [args...]')
    .argument('<script>', 'the program')
    .argument('[args...]', "the program's own arguments")
    .passThroughOptions();
  addFlags(addConfigOptions(addFlags(command, LAUNCH_OPTIONS)), PRINT_OPTIONS).action(
    async (script: string, args: string[], flags: LaunchFlags) => {
      const before = wordsBeforeScript(args, program);
      const warning = optionsAfterScript({ before, script, args, options: command.options });
      if (warning) process.stderr.write(warning);
      setExitCode(await runCommand(script, args, flags));
    },
  );
}

async function runCommand(script: string, args: readonly string[], flags: LaunchFlags): Promise<number> {
  const {
    print: cluster,
    image,
    jobName,
    ...options
  } = await withConfigFile(flags, process.env, workingFolder());
  if (cluster) {
    const { clusterFile } = await import('./cluster/print.js');
    const file = clusterFile({ script, args, ...options }, { cluster, image, jobName });
    process.stdout.write(file);
    return 0;
  }
  if (image !== undefined) throw badOption('--image', image, 'used with --print k8s only');
  if (jobName !== undefined) throw badOption('--job-name', jobName, 'used with --print only');
  // The records of a run name the command that goes on with it.
  process.env.ACC_COMMAND = `npx acc ${shellWords(process.argv.slice(2))}`;
  const { launch } = await import('./launch.js');
  return launch({ script, args, ...options });
}

/** The words between `launch` and the script. commander's types lack `rawArgs`. */
function wordsBeforeScript(args: readonly string[], program: Command): string[] {
  const { rawArgs } = program as Command & { readonly rawArgs: readonly string[] };
  return rawArgs.slice(rawArgs.indexOf('launch') + 1, rawArgs.length - args.length - 1);
}
