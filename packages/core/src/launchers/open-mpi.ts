import { addressOnOneHost } from './this-host.js';
import { environmentError, integer, portOfJob, type JobPlace, type Variables } from './variables.js';

/**
 * Reads the variables that Open MPI's mpirun sets for its processes. They do not contain the host
 * of rank 0, so a job on several hosts needs MASTER_ADDR.
 *
 * @throws AccError `ACC_ENVIRONMENT`.
 */
export function openMpiPlace(env: Variables): JobPlace | undefined {
  if (!env['OMPI_COMM_WORLD_SIZE']) return undefined;
  const size = integer(env, 'OMPI_COMM_WORLD_SIZE', 1, Number.MAX_SAFE_INTEGER, undefined);
  const localSize = integer(env, 'OMPI_COMM_WORLD_LOCAL_SIZE', 1, size, undefined);
  const masterAddress = env['MASTER_ADDR'] || '127.0.0.1';
  if (localSize < size && !env['MASTER_ADDR']) {
    throw environmentError(
      'MASTER_ADDR is not set, but mpirun started processes on several hosts',
      'Pass the host of rank 0: mpirun -x MASTER_ADDR=<host> …',
    );
  }
  // Open MPI 4: a random number that mpirun draws for each job and passes only to its processes.
  const secret = env['OMPI_MCA_orte_precondition_transports'];
  const job = secret ?? env['PMIX_NAMESPACE'] ?? 'mpirun';
  return {
    rank: integer(env, 'OMPI_COMM_WORLD_RANK', 0, size - 1, undefined),
    size,
    localRank: integer(env, 'OMPI_COMM_WORLD_LOCAL_RANK', 0, localSize - 1, undefined),
    localSize,
    masterAddress: localSize === size ? addressOnOneHost(masterAddress) : masterAddress,
    masterPort: integer(env, 'MASTER_PORT', 1, 65_535, portOfJob(job)),
    jobToken: job,
  };
}
