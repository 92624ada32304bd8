import { AccError } from '@acc/contract';
import { whatRuns } from '../running.js';
import { readRandomState, restoreRandomState } from './math-random.js';

/** Where random numbers come from: `Math.random`, from which tfjs draws, and the generator of the backend itself. */
export type RandomSourceName = 'math' | 'backend';

const NAMES: readonly RandomSourceName[] = ['math', 'backend'];

/**
 * Gives every rank the random states of rank 0, so that all draw the same from now on. Every rank calls it, while an Accelerator
 * runs.
 *
 * @param sources Which of them. Default: all.
 * @throws AccError `ACC_NOT_CREATED` without an Accelerator, `ACC_INVALID_ARGUMENT`.
 */
export function synchronizeRngStates(sources: readonly RandomSourceName[] = NAMES): void {
  const unknown = sources.find((source) => !NAMES.includes(source));
  if (unknown !== undefined) {
    throw new AccError('ACC_INVALID_ARGUMENT', `There is no source of random numbers '${String(unknown)}'.`, {
      help: `Use ${NAMES.join(', ')}, or nothing for all.`,
    });
  }
  const running = whatRuns();
  if (!running) {
    throw new AccError('ACC_NOT_CREATED', 'synchronizeRngStates was called without an Accelerator.', {
      help: 'Call it between `await Accelerator.create()` and freeMemory().',
    });
  }
  const { collective, kernels } = running;
  if (sources.includes('math')) restoreRandomState(collective.broadcastObject(readRandomState()));
  if (!sources.includes('backend') || !kernels.random) return;
  const own = kernels.random.state();
  const first = collective.broadcast(own);
  kernels.random.exchange(first).dispose();
  own.dispose();
  first.dispose();
}
