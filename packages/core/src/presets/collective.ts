import { AccError, type Collective } from '@acc/contract';
import {
  coresOfRank,
  DEFAULT_TIMEOUT_MS,
  GroupCollective,
  patienceOf,
  SingleCollective,
  type JoinedGroup,
  type JoinOptions,
} from '@acc/collective';
import { shareKernelChoices } from '@acc/kernels';
import { setNumThreads } from '@acc/native';
import { isCollective } from '../collective-options.js';
import type { LaunchEnvironment } from '../environment.js';
import { joinOnce } from '../job-group.js';
import type { ResolvedOptions } from '../options.js';
import type { ProcessKernels } from './kernels.js';

let hasLeft = false;

/** Returns the collectives among the ranks of the job, which the options may give. */
export async function collectiveOf(
  environment: LaunchEnvironment,
  options: ResolvedOptions,
  { kernels, nativeDevice }: ProcessKernels,
): Promise<Collective> {
  const { collective: given } = options;
  if (isCollective(given)) return given;
  const { rank, size, localSize, masterAddress, masterPort, jobToken, networkInterface } = environment;
  if (size === 1) return new SingleCollective();
  if (hasLeft) throw alreadyLeft();
  const { engine, ...settings } = given;
  const { timeoutMs = DEFAULT_TIMEOUT_MS, joinTimeoutMs = timeoutMs, streamWaits = false } = settings;
  const joining: JoinOptions = {
    rank,
    size,
    masterAddress,
    masterPort,
    jobToken,
    isOneHost: localSize === size,
    device: nativeDevice,
    streamWaits,
    timeoutMs,
    joinTimeoutMs,
    ...patienceOf(settings),
    engine: engine ?? 'auto',
    onWaiting: (who) => console.warn(`acc: waiting: ${who}.`),
    ...(networkInterface && { networkInterface }),
  };
  const joined = await joinOnce(joining, { engine, settings });
  if (!environment.hasThreads) setNumThreads(coresOfRank(joined.members, rank));
  shareKernelChoices(joined.store);
  return new GroupCollective({ joined, bridge: kernels, onClose: () => leave(joined) });
}

function leave(joined: JoinedGroup): void {
  hasLeft = true;
  shareKernelChoices(undefined);
  joined.close();
}

function alreadyLeft(): AccError {
  return new AccError('ACC_TRAINING_ENDED', 'This process left its job when it called endTraining().', {
    help: 'Call endTraining() once, at the end of the program. Between two Accelerators, call freeMemory() instead.',
  });
}
