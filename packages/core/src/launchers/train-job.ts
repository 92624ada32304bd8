import { integer, text, type JobPlace, type Variables } from './variables.js';

/**
 * Reads the variables of a TrainJob of Kubeflow. It starts one process a pod, and gives it options of
 * torchrun as variables.
 *
 * @throws AccError `ACC_ENVIRONMENT`.
 */
export function trainJobPlace(env: Variables): JobPlace | undefined {
  if (!env['PET_NODE_RANK']) return undefined;
  const size = integer(env, 'PET_NNODES', { min: 1 });
  return {
    rank: integer(env, 'PET_NODE_RANK', { min: 0, max: size - 1 }),
    size,
    localRank: 0,
    localSize: 1,
    masterAddress: size === 1 ? '127.0.0.1' : text(env, 'PET_MASTER_ADDR'),
    masterPort: size === 1 ? 0 : integer(env, 'PET_MASTER_PORT', { min: 1, max: 65_535 }),
    jobToken: 'default',
  };
}
