import type { HostLayout } from '@acc/native';

/**
 * The position of a rank among the hosts of its job. `sharesHosts` says whether any host runs
 * several ranks.
 */
export interface JobLayout extends HostLayout {
  readonly sharesHosts: boolean;
}

/**
 * Ranks with the same address run on the same host. Hosts are numbered in the order of their first
 * ranks.
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

/**
 * The name of the host of each rank. It is the same for ranks with the same address, and for no
 * others: hosts of one name are told apart by their addresses.
 */
export function hostsOf(members: readonly { readonly host: string; readonly address: string }[]): string[] {
  const names = new Map(members.map(({ host, address }) => [address, host]));
  const isShared = (name: string) => [...names.values()].filter((other) => other === name).length > 1;
  return members.map(({ address }) => {
    const name = names.get(address)!;
    return isShared(name) ? `${name} (${address})` : name;
  });
}
