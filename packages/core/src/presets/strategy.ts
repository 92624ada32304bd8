import type { Collective, Determinism, GradientAccumulation, KernelLayer, Strategy } from '@acc/contract';
import { ddp } from '@acc/ddp';
import { Deterministic } from '@acc/deterministic';
import { gradientAccumulation } from '@acc/grad-accumulation';
import { isLive, portableLists } from '@acc/kernels';
import type { ResolvedOptions } from '../options.js';
import { singleStrategy } from '../single-strategy/single-strategy.js';

export { castHook, oneBitHook, powerSgdHook, topKHook } from '@acc/ddp';

/** The strategy that the options name. */
export function strategyOf(options: ResolvedOptions, size: number): Strategy {
  const { strategy } = options;
  if (typeof strategy === 'object') return strategy;
  // Alone, too, what is deterministic goes the way that it goes on several ranks.
  const isShared = size > 1 || options.deterministic !== false;
  const name = strategy === 'auto' ? (isShared ? 'ddp' : 'single') : strategy;
  if (name !== 'ddp') return singleStrategy();
  return ddp(options.deterministic === false ? options.ddp : { ...options.ddp, batchNorm: 'sync' });
}

/**
 * What makes results the same on any number of ranks, where the options ask for it.
 *
 * @param dataRanks The ranks that get rows of their own.
 *
 * @throws AccError `ACC_INVALID_OPTION`, `ACC_DETERMINISTIC_BACKEND`.
 */
export function determinismOf(
  { deterministic, seed }: ResolvedOptions,
  dataRanks: Pick<Collective, 'rank' | 'size'>,
  kernels: KernelLayer,
): Determinism | undefined {
  if (deterministic === false) return undefined;
  return new Deterministic(deterministic === true ? {} : deterministic, {
    kernels,
    rank: dataRanks.rank,
    size: dataRanks.size,
    seed,
  });
}

/** What holds gradients back between the steps of the optimizer. */
export function accumulationOf(options: ResolvedOptions, kernels: KernelLayer): GradientAccumulation {
  // Native lists would add up what of each micro-batch has been summed; each shard's sum goes over all of them.
  const lists = options.deterministic === false ? kernels.lists : portableLists();
  return gradientAccumulation({ steps: options.gradientAccumulationSteps, lists, isLive });
}
