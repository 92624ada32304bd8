export { rescuePlace } from '../launchers/rescue-place.js';
import { lsfPlace } from '../launchers/lsf.js';
import { openMpiPlace } from '../launchers/open-mpi.js';
import { slurmPlace } from '../launchers/slurm.js';
import { torchrunPlace } from '../launchers/torchrun.js';
import { trainJobPlace } from '../launchers/train-job.js';
import type { JobPlace, Variables } from '../launchers/variables.js';

/** The place that a launcher gave this process. Undefined if none did. */
export function launchedPlace(env: Variables): JobPlace | undefined {
  const started = torchrunPlace(env) ?? lsfPlace(env) ?? openMpiPlace(env) ?? slurmPlace(env);
  // Any of these may run in a pod.
  return started ?? trainJobPlace(env);
}
