import { movementCases } from './movement-cases.js';
import { ownershipCases } from './ownership-cases.js';
import { protocolCases } from './protocol-cases.js';
import { largest, reductionCases } from './reduction-cases.js';
import { shardCases } from './shard-cases.js';
import { subgroupCases } from './subgroup-cases.js';
import type { CollectiveCase, CollectiveSubject } from './subject.js';

/**
 * The cases that every collective engine must pass, with any number of ranks. The group may be
 * unusable after the last case.
 */
export const collectiveCases: readonly CollectiveCase[] = [
  ...reductionCases,
  ...movementCases,
  ...ownershipCases,
  ...shardCases,
  ...subgroupCases([
    ...reductionCases.filter((one) => one !== largest),
    ...movementCases,
    ...ownershipCases,
    ...shardCases,
    ...protocolCases,
  ]),
  ...protocolCases,
];

/** The outcome of a case on this rank. */
export interface CaseResult {
  readonly name: string;
  /** `none` if the case needs more or fewer ranks. */
  readonly outcome: 'passed' | 'failed' | 'none';
  readonly error?: string;
}

/**
 * Runs {@link collectiveCases} on this rank. Every rank of the group must call it. After a failed
 * case the others still run, unless the group is broken.
 */
export function runCollectiveCases<T>(subject: CollectiveSubject<T>): CaseResult[] {
  const { size } = subject.collective;
  return collectiveCases.map((one): CaseResult => {
    const { name, minRanks = 1, maxRanks = Infinity } = one;
    if (size < minRanks || size > maxRanks) return { name, outcome: 'none' };
    return resultOf(name, () => one.run(subject));
  });
}

/** Runs a case. */
export function resultOf(name: string, run: () => void): CaseResult {
  try {
    run();
    return { name, outcome: 'passed' };
  } catch (error) {
    return { name, outcome: 'failed', error: error instanceof Error ? error.message : String(error) };
  }
}
