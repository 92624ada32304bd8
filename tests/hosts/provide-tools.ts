// Runs before the tests on several hosts. It installs missing programs, and checks that networks
// can be created. The tests need all of this, and are never skipped.
import { spawnSync } from 'node:child_process';
import { accessSync, constants } from 'node:fs';
import { delimiter, join } from 'node:path';
import { TestNetwork } from '@acc/testkit';

/** Debian's packages, by one program of each. */
const PACKAGES = {
  ip: 'iproute2',
  unshare: 'util-linux',
  cc: 'gcc',
  mpirun: 'openmpi-bin',
  mpicc: 'libopenmpi-dev',
  etcd: 'etcd-server',
  munged: 'munge',
  slurmctld: 'slurmctld',
  slurmd: 'slurmd',
  srun: 'slurm-client',
  prometheus: 'prometheus',
  curl: 'curl',
};

export default async function provideTools(): Promise<void> {
  const packages = missingPackages();
  if (packages.length > 0) {
    console.log(`Installing what tests on several hosts run: ${packages.join(', ')}`);
    apt(['update', '-qq'], packages);
    apt(['install', '-y', '-qq', '--no-install-recommends', ...packages], packages);
    const still = missingPackages();
    if (still.length > 0) throw unavailable(packages, `${still.join(', ')} brought no program`);
  }
  // Throws an error that names what is missing: root, namespaces or TAP devices.
  await using _ = await TestNetwork.create({ hosts: 2 });
}

function missingPackages(): string[] {
  return Object.entries(PACKAGES).flatMap(([program, name]) => (isInstalled(program) ? [] : [name]));
}

function isInstalled(program: string): boolean {
  return (process.env.PATH ?? '').split(delimiter).some((folder) => {
    try {
      accessSync(join(folder, program), constants.X_OK);
      return true;
    } catch {
      return false;
    }
  });
}

function apt(args: readonly string[], packages: readonly string[]): void {
  const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive' };
  const { status, stderr, error } = spawnSync('apt-get', args, { encoding: 'utf8', env });
  if (status !== 0) throw unavailable(packages, `apt-get ${args[0]}: ${error?.message ?? stderr.trim()}`);
}

function unavailable(packages: readonly string[], reason: string): Error {
  return new Error(
    `Tests on several hosts need Linux, root and ${packages.join(', ')} (names of Debian's packages), which could not be installed: ${reason}`,
  );
}
