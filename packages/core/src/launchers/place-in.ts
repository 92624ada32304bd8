import { AccError, type Collective } from '@acc/contract';
import type { LaunchEnvironment } from '../environment.js';

/**
 * The place of this rank in a collective of the program. If the collective does not know the hosts
 * of its ranks, they count as ranks of one host.
 *
 * @throws AccError `ACC_INVALID_OPTION` if a launcher gave this process another place.
 */
export function placeIn({ rank, size, hosts }: Collective, launched: LaunchEnvironment): LaunchEnvironment {
  if (launched.size > 1 && (launched.rank !== rank || launched.size !== size)) {
    throw new AccError(
      'ACC_INVALID_OPTION',
      `collective has rank ${rank} of ${size}, but this process was launched as rank ${launched.rank} of ${launched.size}.`,
      { help: 'Give a collective of all ranks of the job, in their order, or leave collective out.' },
    );
  }
  const all = Array.from({ length: size }, (_, one) => one);
  const local = hosts ? all.filter((one) => hosts[one] === hosts[rank]) : all;
  return { ...launched, rank, size, localRank: local.indexOf(rank), localSize: local.length };
}
