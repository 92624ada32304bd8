import { movementCases } from './movement-cases.js';
import { ownershipCases } from './ownership-cases.js';
import { protocolCases } from './protocol-cases.js';
import { reductionCases } from './reduction-cases.js';
import { shardCases } from './shard-cases.js';
import { subgroupCases } from './subgroup-cases.js';
import type { CollectiveCase, CollectiveSubject } from './subject.js';

/** What every engine of collectives must do, whatever the number of ranks. After the last the group may be of no use any more. */
export const collectiveCases: readonly CollectiveCase[] = [
  ...reductionCases,
  ...movementCases,
  ...ownershipCases,
  ...shardCases,
  ...subgroupCases([...reductionCases, ...movementCases, ...ownershipCases, ...shardCases, ...protocolCases]),
  ...protocolCases,
];

/** How a case went on this rank. */
export interface CaseResult {
  readonly name: string;
  /** `none` where there are too few or too many ranks for it. */
  readonly outcome: 'passed' | 'failed' | 'none';
  readonly error?: string;
}

/**
 * Runs {@link collectiveCases} on this rank; every rank of the group calls it. A failed case doesn't end the others, unless
 * it broke the group.
 */
export function runCollectiveCases<T>(subject: CollectiveSubject<T>): CaseResult[] {
  const { size } = subject.collective;
  return collectiveCases.map((one): CaseResult => {
    const { name, minRanks = 1, maxRanks = Infinity } = one;
    if (size < minRanks || size > maxRanks) return { name, outcome: 'none' };
    try {
      one.run(subject);
      return { name, outcome: 'passed' };
    } catch (error) {
      return { name, outcome: 'failed', error: error instanceof Error ? error.message : String(error) };
    }
  });
}
