import { AccError, type Collective, type KernelLayer } from '@acc/contract';
import { whatRuns } from '../running.js';
import { readRandomState, restoreRandomState } from './math-random.js';

/**
 * The sources of random numbers: `Math.random`, from which tfjs draws, and the generator of the
 * backend.
 */
export type RandomSourceName = 'math' | 'backend';

const NAMES: readonly RandomSourceName[] = ['math', 'backend'];

/**
 * Copies the random states of rank 0 to every rank, so that all ranks draw the same numbers
 * afterwards. Every rank must call it, while an Accelerator runs.
 *
 * @param sources The sources to synchronize. Default: all.
 * @throws AccError `ACC_NOT_CREATED` without an Accelerator, `ACC_INVALID_ARGUMENT`.
 */
export function synchronizeRngStates(sources: readonly RandomSourceName[] = NAMES): void {
  const unknown = sources.find((source) => !NAMES.includes(source));
  if (unknown !== undefined) {
    throw new AccError('ACC_INVALID_ARGUMENT', `'${String(unknown)}' is not a source of random numbers.`, {
      help: `Use ${NAMES.join(', ')}, or no argument for all sources.`,
    });
  }
  const running = whatRuns();
  if (!running) {
    throw new AccError('ACC_NOT_CREATED', 'synchronizeRngStates was called without an Accelerator.', {
      help: 'Call it between `await Accelerator.create()` and freeMemory().',
    });
  }
  shareRandomStates(running.collective, running.kernels, sources);
}

/** Copies the random states of rank 0 of a group to its ranks. Every rank of the group calls it. */
export function shareRandomStates(
  group: Collective,
  kernels: Pick<KernelLayer, 'random'>,
  sources: readonly RandomSourceName[] = NAMES,
): void {
  if (sources.includes('math')) restoreRandomState(group.broadcastObject(readRandomState()));
  if (!sources.includes('backend') || !kernels.random) return;
  const own = kernels.random.state();
  const first = group.broadcast(own);
  kernels.random.exchange(first).dispose();
  own.dispose();
  first.dispose();
}
