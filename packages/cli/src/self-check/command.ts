import { ENGINE_CHOICES } from '@acc/contract';
import { LAUNCH_OPTIONS, workingFolder, type OptionsOf } from '@acc/config';
import { Option, type Command } from 'commander';
import { addConfigOptions, type ConfigFlags } from '../config/launch-flags.js';
import { addFlags } from '../launch/flags.js';

const { nproc, threads } = LAUNCH_OPTIONS;
/** The flags that `acc launch` also has. */
const OF_LAUNCH = { nproc: { ...nproc, otherwise: 'as acc launch' }, threads };

/** The options of `acc test`. */
export interface TestFlags extends ConfigFlags, OptionsOf<typeof OF_LAUNCH> {
  readonly engine?: string;
  readonly json?: boolean;
}

/** Adds the command `test` to the program. `setExitCode` receives 1 if a check failed. */
export function addTestCommand(program: Command, setExitCode: (code: number) => void): void {
  const command = program
    .command('test')
    .description('check training on this machine: collectives, data, weights, checkpoints, speed');
  addFlags(command, OF_LAUNCH)
    .addOption(new Option('--engine <NAME>', 'the transport between ranks').choices(ENGINE_CHOICES))
    .option('--json', 'the findings as JSON');
  addConfigOptions(command).action(async (flags: TestFlags) => {
    const { runTest } = await import('./run-test.js');
    setExitCode(await runTest(flags, process.env, workingFolder()));
  });
}
