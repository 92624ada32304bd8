import type { Command } from 'commander';
import type { SetupOptions } from './setup.js';
import { addTfjsNodeCommand } from './tfjs-node/command.js';

/** Adds the command `setup` to the program. */
export function addSetupCommand(program: Command): void {
  const setupCommand = program
    .command('setup')
    .enablePositionalOptions()
    .description('install libtorch unless it is found, and build the native addon if no prebuilt one fits')
    .optionsGroup('libtorch:')
    .option('--libtorch <version>', 'install this version into the cache')
    .option('--from <path|url>', 'install from this libtorch archive (.zip) or torch wheel (.whl)')
    .option('--sha256 <hex>', 'the expected SHA-256 checksum of the archive')
    .option('--offline', 'do not use the network')
    .optionsGroup('Addon:')
    .option('--build', 'build the native addon on this machine, even if a prebuilt one fits')
    .option('--mpi', "also build the engine 'mpi', with the mpicc of the cluster")
    .option('--mpicc <path>', 'the MPI compiler for --mpi (default: mpicc)')
    .action(async (flags: SetupOptions) => {
      const [{ setup }, { SetupProgress }] = await Promise.all([
        import('./setup.js'),
        import('./progress.js'),
      ]);
      const progress = new SetupProgress(process.stderr);
      try {
        await setup(flags, progress);
      } finally {
        progress.close();
      }
    });
  addTfjsNodeCommand(setupCommand);
}
