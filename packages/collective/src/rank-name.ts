import type { Member } from './member.js';

/** The name of a rank in messages. In a sub-group it includes the rank in the job if that differs. */
export function rankName(rank: number, members?: readonly Pick<Member, 'rank'>[]): string {
  const worldRank = members?.[rank]?.rank ?? rank;
  return worldRank === rank ? `rank ${rank}` : `rank ${rank} (world rank ${worldRank})`;
}
