import type { Collective } from '@acc/contract';
import type { ThreadRanks } from './thread-ranks.js';

/**
 * Calls `fn` with a group of the first rank, then with one of the first two ranks, and so on, up to
 * all ranks. Meanwhile each other rank calls it with a group of its own, so that tfjs, which numbers
 * layers and variables, makes the same names on every rank.
 *
 * @returns The results of this rank in the groups of the first ranks, by the size of the group.
 */
export async function forEachSize<R>(
  { rank, size, collective }: ThreadRanks,
  fn: (collective: Collective) => R | Promise<R>,
): Promise<Record<number, R>> {
  const results: Record<number, R> = {};
  const ranks = Array.from({ length: size }, (_, one) => one);
  for (const count of ranks.map((one) => one + 1)) {
    const lists = [ranks.slice(0, count), ...ranks.slice(count).map((one) => [one])];
    const own = lists.map((list) => collective.subgroup(list)).find((group) => group !== undefined)!;
    const result = await fn(own);
    own.close();
    if (rank < count) results[count] = result;
  }
  return results;
}
