import { addressOnOneHost, isThisHost } from './this-host.js';
import { environmentError, integer, text, type JobPlace, type Variables } from './variables.js';

/**
 * Reads the variables that `acc launch` and torchrun set. Undefined without WORLD_SIZE and RANK.
 * @throws AccError `ACC_ENVIRONMENT`.
 */
export function torchrunPlace(env: Variables): JobPlace | undefined {
  if (!env['WORLD_SIZE']) return requireNoRank(env);
  const size = integer(env, 'WORLD_SIZE', { min: 1 });
  const isAlone = size === 1;
  for (const name of isAlone ? [] : ['RANK', 'MASTER_ADDR', 'MASTER_PORT']) {
    if (!env[name]) throw environmentError(`${name} is not set, but WORLD_SIZE is ${size}`);
  }
  const rank = integer(env, 'RANK', { min: 0, max: size - 1, fallback: 0 });
  const masterAddress = isAlone ? '127.0.0.1' : text(env, 'MASTER_ADDR');
  const localSize = integer(env, 'LOCAL_WORLD_SIZE', {
    min: 1,
    max: size,
    fallback: usualLocalSize(env, masterAddress, size),
  });
  const isToldOneHost = Boolean(env['LOCAL_WORLD_SIZE']) && localSize === size;
  return {
    rank,
    size,
    localRank: integer(env, 'LOCAL_RANK', { min: 0, max: localSize - 1, fallback: rank % localSize }),
    localSize,
    masterAddress: isToldOneHost ? addressOnOneHost(masterAddress) : masterAddress,
    masterPort: isAlone ? 0 : integer(env, 'MASTER_PORT', { min: 1, max: 65_535 }),
    jobToken: 'default',
  };
}

function requireNoRank({ RANK }: Variables): undefined {
  if (!RANK) return undefined;
  throw environmentError(
    `WORLD_SIZE is not set, but RANK is ${RANK}`,
    'Start the program with `npx acc launch -n 2 script.ts`, or also set WORLD_SIZE, MASTER_ADDR and MASTER_PORT. To train on one process, unset RANK.',
  );
}

/**
 * The number of ranks on this host if LOCAL_WORLD_SIZE is not set. It is all ranks on the host of
 * rank 0, and one on any other host. The host of rank 0 may not be the only one, so MASTER_ADDR
 * remains the rendezvous address. A PyTorchJob of Kubeflow starts one process a pod, and gives the
 * number of pods.
 */
function usualLocalSize(env: Variables, masterAddress: string, size: number): number {
  if (Number(env['PET_NNODES']) === size) return 1;
  if (isThisHost(masterAddress)) return size;
  if (env['LOCAL_WORLD_SIZE'] || !Number(env['LOCAL_RANK'])) return 1;
  throw environmentError(
    `LOCAL_WORLD_SIZE is not set, but LOCAL_RANK is ${env['LOCAL_RANK']} and MASTER_ADDR=${masterAddress} is another host`,
    'Set LOCAL_WORLD_SIZE to the number of ranks on each host.',
  );
}
