import { ENGINE_CHOICES } from '@acc/contract';
import { workingFolder } from '@acc/config';
import { Option, type Command } from 'commander';
import { addConfigOptions, type ConfigFlags } from '../config/launch-flags.js';
import { parseProcesses, parseWhole } from '../launch/command.js';

/** The options of `acc test`. */
export interface TestFlags extends ConfigFlags {
  readonly nproc?: number | 'auto';
  readonly engine?: string;
  readonly threads?: number;
  readonly json?: boolean;
}

/** Adds the command `test` to the program. `setExitCode` receives 1 if a check failed. */
export function addTestCommand(program: Command, setExitCode: (code: number) => void): void {
  const command = program
    .command('test')
    .description('check training on this machine: collectives, data, weights, checkpoints, speed')
    .option('-n, --nproc <N>', "ranks, or 'auto': one for each core (default: as acc launch)", parseProcesses)
    .addOption(new Option('--engine <NAME>', 'the transport between ranks').choices(ENGINE_CHOICES))
    .option('--threads <T>', 'threads of each rank', parseWhole)
    .option('--json', 'the findings as JSON');
  addConfigOptions(command).action(async (flags: TestFlags) => {
    const { runTest } = await import('./run-test.js');
    setExitCode(await runTest(flags, process.env, workingFolder()));
  });
}
