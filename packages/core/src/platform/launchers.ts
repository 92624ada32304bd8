export { rescuePlace } from '../launchers/rescue-place.js';
import { lsfPlace } from '../launchers/lsf.js';
import { openMpiPlace } from '../launchers/open-mpi.js';
import { slurmPlace } from '../launchers/slurm.js';
import { torchrunPlace } from '../launchers/torchrun.js';
import type { JobPlace, Variables } from '../launchers/variables.js';

/** The place that a launcher gave this process. Undefined if none did. */
export function launchedPlace(env: Variables): JobPlace | undefined {
  return torchrunPlace(env) ?? lsfPlace(env) ?? openMpiPlace(env) ?? slurmPlace(env);
}
