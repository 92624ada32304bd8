import type { HostLayout } from '@acc/native';

/** Where a rank stands among the hosts of its job, and whether any host has several ranks. */
export interface JobLayout extends HostLayout {
  readonly sharesHosts: boolean;
}

/**
 * Ranks that peers reach by one address are on one host. Hosts count in the order of their first ranks.
 *
 * @param members All ranks, by rank.
 */
export function layoutOf(members: readonly { readonly address: string }[], rank: number): JobLayout {
  const hosts = [...new Set(members.map(({ address }) => address))];
  const { address } = members[rank]!;
  const isLocal = (member: { readonly address: string }) => member.address === address;
  return {
    host: hosts.indexOf(address),
    hosts: hosts.length,
    localRank: members.slice(0, rank).filter(isLocal).length,
    localSize: members.filter(isLocal).length,
    sharesHosts: hosts.length < members.length,
  };
}
