import { AccError, type Collective } from '@acc/contract';
import { resolveFsdpOptions } from '@acc/fsdp';
import type { LaunchEnvironment } from '../environment.js';
import type { ResolvedOptions } from '../options.js';

/** @throws AccError `ACC_STRATEGY_CANNOT` for what shards cannot do beside the axis pipeline. */
export function requireBesidePipeline({ strategy, fsdp }: Pick<ResolvedOptions, 'strategy' | 'fsdp'>): void {
  if (strategy !== 'fsdp' || fsdp?.stage === 'NO_SHARD') return;
  if (!resolveFsdpOptions(fsdp).offload) return;
  throw new AccError('ACC_STRATEGY_CANNOT', 'fsdp.offload cannot be combined with the mesh axis pipeline.', {
    help: 'Leave one of the two out.',
  });
}

/** @throws AccError `ACC_INVALID_OPTION`, `ACC_DETERMINISTIC_UNSUPPORTED` beside the axis expert. */
export function requireBesideExperts({
  strategy,
  fsdp,
  deterministic,
}: Pick<ResolvedOptions, 'strategy' | 'fsdp' | 'deterministic'>): void {
  if (deterministic !== false) {
    throw new AccError('ACC_DETERMINISTIC_UNSUPPORTED', 'deterministic does not support the axis expert.', {
      help: 'Use the axis data, or leave deterministic out.',
    });
  }
  if (strategy === 'fsdp' && resolveFsdpOptions(fsdp).offload) {
    throw new AccError('ACC_INVALID_OPTION', 'fsdp.offload does not support the axis expert.', {
      help: 'Leave one of the two out. Each rank has the weights of its own experts only.',
    });
  }
}

/**
 * The number of ranks of each host. Every rank calls it.
 *
 * @throws AccError `ACC_HOSTS_DIFFER` if hosts cannot form the rows of a mesh.
 */
export function ranksPerHost(
  collective: Collective,
  { localRank, localSize }: Pick<LaunchEnvironment, 'localRank' | 'localSize'>,
): number {
  const places = collective.allGatherObject({ localRank, localSize });
  const isEven = places.every((place, rank) => {
    return place.localSize === localSize && place.localRank === rank % localSize;
  });
  if (isEven && collective.size % localSize === 0) return localSize;
  const lines = places.map((place, rank) => `  rank ${rank}: ${place.localRank} of ${place.localSize}`);
  throw new AccError(
    'ACC_HOSTS_DIFFER',
    `HYBRID_SHARD shards over the ranks of each host. Hosts do not have the same number of ranks, or their ranks are not numbered one host after the other. Each rank's place on its host:\n${lines.join('\n')}`,
    {
      help: 'Start as many ranks on every host, or say over how many ranks to shard: mesh: { data: -1, fsdp: … }.',
      details: { places },
    },
  );
}
