import { AccError } from '@acc/contract';
import { rankName, type Member } from './rendezvous.js';

/**
 * The ranks of a sub-group, which every rank of the group has to list alike.
 *
 * @param lists What each rank gives, by rank.
 * @param members Of the group, by rank.
 * @throws AccError `ACC_COLLECTIVE_MISMATCH` with each rank's list; `ACC_COLLECTIVE_RANK` for a list that no sub-group can have:
 * each on every rank.
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
        help: 'Every rank calls subgroup for the same lists in the same order, also for those that it is not in.',
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
