import { hostList, perNode } from './slurm-lists.js';
import { addressOnOneHost } from './this-host.js';
import { environmentError, integer, portOfJob, type JobPlace, type Variables } from './variables.js';

/**
 * Reads the variables that srun sets for the tasks of a step. Undefined elsewhere, including a
 * batch script itself, which is not a task of a step.
 *
 * @throws AccError `ACC_ENVIRONMENT`.
 */
export function slurmPlace(env: Variables): JobPlace | undefined {
  if (!env['SLURM_PROCID'] || isBatchScript(env)) return undefined;
  const sizeName = env['SLURM_STEP_NUM_TASKS'] ? 'SLURM_STEP_NUM_TASKS' : 'SLURM_NTASKS';
  const size = integer(env, sizeName, { min: 1, fallback: 1 });
  const rank = integer(env, 'SLURM_PROCID', { min: 0, max: size - 1 });
  const list = env['SLURM_STEP_NODELIST'] || env['SLURM_JOB_NODELIST'] || env['SLURM_NODELIST'];
  const hosts = list ? hostList(list) : [];
  const localSize = tasksOnThisNode(env, size, hosts.length);
  const isOneHost = localSize === size;
  // Slurm gives rank 0 to the first node of the step.
  const masterAddress = env['MASTER_ADDR'] || (hosts[0] ?? '127.0.0.1');
  const job = `slurm ${env['SLURM_JOB_ID'] ?? ''}.${env['SLURM_STEP_ID'] ?? ''}`;
  return {
    rank,
    size,
    localRank: integer(env, 'SLURM_LOCALID', {
      min: 0,
      max: localSize - 1,
      fallback: isOneHost ? rank : undefined,
    }),
    localSize,
    masterAddress: isOneHost ? addressOnOneHost(masterAddress) : masterAddress,
    masterPort: integer(env, 'MASTER_PORT', { min: 1, max: 65_535, fallback: portOfJob(job) }),
    jobToken: job,
  };
}

/**
 * Whether this is a batch script. It has the variables of a task and of the job, although it was
 * started only once.
 */
function isBatchScript(env: Variables): boolean {
  return env['SLURM_STEP_ID'] === undefined && env['ENVIRONMENT'] === 'BATCH';
}

function tasksOnThisNode(env: Variables, size: number, hosts: number): number {
  if (hosts <= 1) return size;
  const counts = env['SLURM_STEP_TASKS_PER_NODE'] || env['SLURM_TASKS_PER_NODE'];
  const node = integer(env, 'SLURM_NODEID', { min: 0, max: hosts - 1 });
  const own = counts ? perNode(counts)[node] : size / hosts;
  if (own !== undefined && Number.isInteger(own)) return own;
  throw environmentError(
    `SLURM_STEP_TASKS_PER_NODE is '${counts ?? ''}', which does not contain the number of tasks of node ${node} (${size} tasks on ${hosts} nodes)`,
    'Start the program with srun.',
  );
}
