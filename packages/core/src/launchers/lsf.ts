import { prefixedPlace } from './prefixed-place.js';
import type { JobPlace, Variables } from './variables.js';

/**
 * Reads the variables that jsrun, the launcher of IBM's LSF, sets for its processes.
 *
 * @throws AccError `ACC_ENVIRONMENT`.
 */
export function lsfPlace(env: Variables): JobPlace | undefined {
  if (!env['JSM_NAMESPACE_SIZE']) return undefined;
  return prefixedPlace(env, {
    prefix: 'JSM_NAMESPACE',
    job: `lsf ${env['LSB_JOBID'] ?? ''}`,
    withoutAddress: {
      message: 'MASTER_ADDR is not set, and the list of hosts of the LSF job does not tell where rank 0 is',
      help: 'Set MASTER_ADDR to the host of rank 0, for example in the script that you give to bsub.',
    },
  });
}
