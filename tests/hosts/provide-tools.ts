// Runs before the tests on several hosts. It installs missing programs, and checks that networks
// can be created. The tests need all of this, and are never skipped.
import { TestNetwork } from '@acc/testkit';
import { provideDebianPackages } from '../debian-packages.js';

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
  zsh: 'zsh',
  fish: 'fish',
};

export default async function provideTools(): Promise<void> {
  provideDebianPackages(PACKAGES, 'Tests on several hosts');
  // Throws an error that names what is missing: root, namespaces or TAP devices.
  await using _ = await TestNetwork.create({ hosts: 2 });
}
