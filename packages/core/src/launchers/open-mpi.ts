import { firstHost } from './lsf.js';
import { addressOnOneHost } from './this-host.js';
import { environmentError, integer, portOfJob, type JobPlace, type Variables } from './variables.js';

/**
 * Reads the variables that Open MPI's mpirun sets for its processes. They do not contain the host
 * of rank 0, so a job on several hosts needs MASTER_ADDR, or LSF's list of hosts.
 *
 * @throws AccError `ACC_ENVIRONMENT`.
 */
export function openMpiPlace(env: Variables): JobPlace | undefined {
  if (!env['OMPI_COMM_WORLD_SIZE']) return undefined;
  const size = integer(env, 'OMPI_COMM_WORLD_SIZE', { min: 1 });
  const localSize = integer(env, 'OMPI_COMM_WORLD_LOCAL_SIZE', { min: 1, max: size });
  const firstOfLsf = localSize < size ? firstHost(env, size / localSize) : undefined;
  const masterAddress = env['MASTER_ADDR'] || firstOfLsf || '127.0.0.1';
  if (localSize < size && masterAddress === '127.0.0.1') {
    throw environmentError(
      'MASTER_ADDR is not set, but mpirun started processes on several hosts',
      'Pass the host of rank 0: mpirun -x MASTER_ADDR=<host> …',
    );
  }
  // Open MPI 4: a random number that mpirun draws for each job and passes only to its processes.
  const secret = env['OMPI_MCA_orte_precondition_transports'];
  const job = secret ?? env['PMIX_NAMESPACE'] ?? 'mpirun';
  return {
    rank: integer(env, 'OMPI_COMM_WORLD_RANK', { min: 0, max: size - 1 }),
    size,
    localRank: integer(env, 'OMPI_COMM_WORLD_LOCAL_RANK', { min: 0, max: localSize - 1 }),
    localSize,
    masterAddress: localSize === size ? addressOnOneHost(masterAddress) : masterAddress,
    masterPort: integer(env, 'MASTER_PORT', { min: 1, max: 65_535, fallback: portOfJob(job) }),
    jobToken: job,
  };
}
