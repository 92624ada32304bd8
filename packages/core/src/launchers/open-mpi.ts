import { prefixedPlace } from './prefixed-place.js';
import type { JobPlace, Variables } from './variables.js';

/**
 * Reads the variables that Open MPI's mpirun sets for its processes.
 *
 * @throws AccError `ACC_ENVIRONMENT`.
 */
export function openMpiPlace(env: Variables): JobPlace | undefined {
  if (!env['OMPI_COMM_WORLD_SIZE']) return undefined;
  // Open MPI 4: a random number that mpirun draws for each job and passes only to its processes.
  const secret = env['OMPI_MCA_orte_precondition_transports'];
  return prefixedPlace(env, {
    prefix: 'OMPI_COMM_WORLD',
    job: secret ?? env['PMIX_NAMESPACE'] ?? 'mpirun',
    withoutAddress: {
      message: 'MASTER_ADDR is not set, but mpirun started processes on several hosts',
      help: 'Pass the host of rank 0: mpirun -x MASTER_ADDR=<host> …',
    },
  });
}
