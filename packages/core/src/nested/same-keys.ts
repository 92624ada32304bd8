import { AccError, type Collective } from '@acc/contract';
import { mapLeaves } from '@acc/tape';
import { isMetricLeaf } from './gather-real.js';

/**
 * Verifies that ranks give records with the same keys, by which their tensors are matched. Each set
 * of keys is compared once, by an exchange of objects. If one rank already knows its keys and
 * another has new ones, the two call different collectives.
 */
export class SameKeys {
  readonly #known = new Set<string>();

  /** @throws AccError `ACC_COLLECTIVE_MISMATCH`, on every rank, with each rank's keys. */
  require(method: string, values: unknown, collective: Collective): void {
    const keys = keysOf(values);
    const known = keys.join('\n');
    if (keys.length === 0 || collective.size === 1 || this.#known.has(known)) return;
    const ranks = collective.allGatherObject({ rank: collective.rank, keys });
    if (ranks.some((other) => other.keys.join('\n') !== known)) throw keysDiffer(method, ranks);
    this.#known.add(known);
  }
}

/** The sorted paths of the leaves of records. Empty if there is no record. */
function keysOf(values: unknown): string[] {
  const paths: string[] = [];
  mapLeaves(values, isMetricLeaf, (_, where) => paths.push(where));
  return paths.every((path) => /^(\[\d+\])*$/.test(path)) ? [] : paths;
}

function keysDiffer(method: string, ranks: readonly { rank: number; keys: string[] }[]): AccError {
  const lines = ranks.map(({ rank, keys }) => `  rank ${rank}: ${keys.join(', ') || 'no records'}`);
  return new AccError(
    'ACC_COLLECTIVE_MISMATCH',
    `${method}: ranks give records with different keys:\n${lines.join('\n')}`,
    { help: 'Give the same keys on every rank. Their order may differ.', details: { ranks } },
  );
}
