import { AccError, type Collective } from '@acc/contract';
import type { LaunchEnvironment } from '../environment.js';

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
