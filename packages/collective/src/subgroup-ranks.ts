import { AccError } from '@acc/contract';
import { rankName } from './rank-name.js';
import type { Member } from './member.js';

/**
 * The ranks of a sub-group. Every rank of the group must give the same list.
 *
 * @param lists The list of each rank, by rank.
 * @param members The members of the group, by rank.
 * @throws AccError on every rank: `ACC_COLLECTIVE_MISMATCH` with each rank's list if lists differ,
 * `ACC_COLLECTIVE_RANK` for a list that is empty, repeats a rank or names an unknown one.
 */
export function ranksOfSubgroup(
  lists: readonly (readonly number[])[],
  members: readonly Pick<Member, 'rank'>[],
): readonly number[] {
  const texts = lists.map((list) => `[${list.join(', ')}]`);
  if (texts.some((text) => text !== texts[0])) {
    const lines = texts.map((text, rank) => `  ${rankName(rank, members)}: ${text}`);
    throw new AccError(
      'ACC_COLLECTIVE_MISMATCH',
      `Ranks ask for different sub-groups:\n${lines.join('\n')}`,
      {
        help: 'Call subgroup on every rank with the same lists in the same order, including lists that do not contain the rank.',
        details: { lists },
      },
    );
  }
  const ranks = lists[0]!;
  const areRanks = ranks.every((rank) => Number.isInteger(rank) && rank >= 0 && rank < members.length);
  if (ranks.length > 0 && areRanks && new Set(ranks).size === ranks.length) return ranks;
  throw new AccError('ACC_COLLECTIVE_RANK', `There is no sub-group of ranks ${texts[0]}.`, {
    help: `List at least one rank, each once; ranks of this group are 0 to ${members.length - 1}.`,
  });
}
