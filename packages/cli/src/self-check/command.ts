import { ENGINE_CHOICES } from '@acc/contract';
import { workingFolder } from '@acc/config';
import { Option, type Command } from 'commander';
import { addConfigOptions } from '../config/launch-flags.js';
import { addFlags } from '../launch/flags.js';
import { OF_LAUNCH, type TestFlags } from './flags.js';

/** Adds the command `test` to the program. `setExitCode` receives 1 if a check failed. */
export function addTestCommand(program: Command, setExitCode: (code: number) => void): void {
  const command = program
    .command('test')
    .description('check training on this machine: collectives, data, weights, checkpoints, speed');
  addFlags(command, OF_LAUNCH)
    .addOption(
      new Option('--engine <NAME>', 'the transport between ranks')
        .choices(ENGINE_CHOICES)
        .helpGroup('Ranks:'),
    )
    .optionsGroup('Output:')
    .option('--json', 'the findings as JSON');
  addConfigOptions(command).action(async (flags: TestFlags) => {
    const { runTest } = await import('./run-test.js');
    setExitCode(await runTest(flags, process.env, workingFolder()));
  });
}
