import type { Collective, KernelLayer, Strategy } from '@acc/contract';
import type { Determinism } from '@acc/deterministic';
import { staged } from '#platform/pipelining';
import { ddp, Deterministic, expertParallel, fsdp, isForOne } from '#platform/strategies';
import { gradientAccumulation, type GradientAccumulation } from '@acc/grad-accumulation';
import { isLive, portableLists } from '@acc/kernels';
import type { ResolvedOptions } from '../options.js';
import { singleStrategy } from '../single-strategy/single-strategy.js';

export { castHook, oneBitHook, powerSgdHook, topKHook } from '@acc/ddp';

/**
 * Returns the strategy that the options name.
 *
 * @throws AccError `ACC_STRATEGY_CANNOT` for options of the strategy that the device cannot follow.
 */
export function strategyOf(options: ResolvedOptions, size: number, kernels: KernelLayer): Strategy {
  const { strategy, mesh } = options;
  if (typeof strategy === 'object') return strategy;
  return onAxes(plainStrategyOf(options, size, kernels), mesh);
}

/**
 * Wraps a strategy for models that are divided by experts or stages, if the mesh has these axes.
 *
 * @throws AccError `ACC_STRATEGY_CANNOT` for a strategy that cannot be combined with them.
 */
export function onAxes(plain: Strategy, mesh: ResolvedOptions['mesh']): Strategy {
  const hasExperts = (mesh?.expert ?? 1) !== 1 && plain.traits.isLocal !== true;
  const ofStage = (mesh?.pipeline ?? 1) === 1 ? plain : staged(plain);
  return hasExperts ? expertParallel(ofStage) : ofStage;
}

/** The strategy for models that are not divided by experts or stages. */
function plainStrategyOf(options: ResolvedOptions, size: number, kernels: KernelLayer): Strategy {
  const { strategy } = options;
  // Deterministic training uses the same code on one rank as on several.
  const isShared = size > 1 || options.deterministic !== false;
  const isUnsharded = options.deterministic !== false && options.fsdp?.stage === 'NO_SHARD';
  const name = strategy === 'auto' ? (isShared ? 'ddp' : 'single') : isUnsharded ? 'ddp' : strategy;
  if (name === 'fsdp') {
    return size > 1 || isForOne(options.fsdp, kernels) ? fsdp(options.fsdp) : singleStrategy();
  }
  if (name !== 'ddp') return singleStrategy();
  return ddp(options.deterministic === false ? options.ddp : { ...options.ddp, batchNorm: 'sync' });
}

/**
 * Returns the deterministic layer, which makes results independent of the number of ranks.
 * Undefined if the options do not ask for it.
 *
 * @param dataRanks The ranks that get rows of their own.
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

/** Returns the store that accumulates gradients between the steps of the optimizer. */
export function accumulationOf(options: ResolvedOptions, kernels: KernelLayer): GradientAccumulation {
  // Native lists would sum over the micro-batches after each micro-batch was summed. Deterministic
  // training sums each virtual shard over all micro-batches.
  const lists = options.deterministic === false ? kernels.lists : portableLists();
  return gradientAccumulation({ steps: options.gradientAccumulationSteps, lists, isLive });
}
