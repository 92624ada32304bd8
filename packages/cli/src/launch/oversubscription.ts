import { availableParallelism, totalmem } from 'node:os';
import { AccError, counted } from '@acc/contract';
import type { LaunchPlan } from './options.js';

/** The cores and the memory of a host. */
export interface HostCapacity {
  readonly cores: number;
  readonly memoryBytes: number;
}

/** This many ranks start on every host, for tests of programs for larger ones. */
const ALWAYS_RANKS = 8;
const MOST_RANKS_PER_CORE = 8;
const FAST_RANKS_PER_CORE = 2;
/** The memory that Node.js with libtorch needs, without a model, in bytes. */
const RANK_BYTES = 128 * 2 ** 20;

/**
 * Refuses a number of ranks that would bring this host to a standstill, such as a mistyped one.
 *
 * @returns A warning if the ranks are only slow, else undefined.
 * @throws AccError `ACC_BAD_OPTION`.
 */
export function checkRanksOnHost(
  { nproc, oversubscribe }: Pick<LaunchPlan, 'nproc' | 'oversubscribe'>,
  { cores, memoryBytes }: HostCapacity = capacityOfHost(),
): string | undefined {
  const byMemory = Math.floor(memoryBytes / RANK_BYTES);
  const byCores = MOST_RANKS_PER_CORE * cores;
  const most = Math.max(ALWAYS_RANKS, Math.min(byCores, byMemory));
  const ofCores = counted(cores, 'core');
  if (nproc > most && !oversubscribe) {
    const reason =
      byMemory < byCores
        ? `it has ${(memoryBytes / 2 ** 30).toFixed(1)} GiB of memory, and each rank needs at least ${RANK_BYTES / 2 ** 20} MiB`
        : `it has ${ofCores}, and at most ${MOST_RANKS_PER_CORE} ranks share one`;
    const auto = cores <= most ? ', such as one for each core (-n auto)' : '';
    throw new AccError('ACC_BAD_OPTION', `${nproc} ranks are too many for this host: ${reason}.`, {
      help: `Start at most ${most}${auto}. To start ${nproc} nevertheless: --oversubscribe.`,
      details: { option: '--nproc', value: nproc, most },
    });
  }
  if (oversubscribe || nproc <= Math.max(ALWAYS_RANKS, FAST_RANKS_PER_CORE * cores)) return undefined;
  return `${nproc} ranks share ${ofCores}, so each of them is slow. -n auto starts one for each core.`;
}

function capacityOfHost(): HostCapacity {
  // The limit of a container. 0 or a huge number if there is none.
  const limit = process.constrainedMemory() || Infinity;
  return { cores: availableParallelism(), memoryBytes: Math.min(totalmem(), limit) };
}
