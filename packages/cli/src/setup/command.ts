import type { Command } from 'commander';
import type { SetupOptions } from './setup.js';

/** Adds `setup` to the program. */
export function addSetupCommand(program: Command): void {
  program
    .command('setup')
    .description(
      'install libtorch, unless one is found, and build the native addon where no prebuilt one fits',
    )
    .option('--libtorch <version>', 'install this version into the cache')
    .option('--from <path|url>', 'install from this libtorch archive (.zip) or torch wheel (.whl)')
    .option('--sha256 <hex>', 'the checksum that the archive must have')
    .option('--offline', 'nothing from the network')
    .option('--build', 'build the native addon on this machine, also where a prebuilt one fits')
    .option('--mpi', "build the engine 'mpi' too, with the cluster's mpicc")
    .option('--mpicc <path>', 'the MPI compiler to build it with (default: mpicc)')
    .action(async (flags: SetupOptions) => {
      const [{ setup }, { SetupProgress }] = await Promise.all([
        import('./setup.js'),
        import('./progress.js'),
      ]);
      await setup(flags, new SetupProgress(process.stderr));
    });
}
