/** An item that a rank holds and can write. */
export interface Offer {
  /** Equal for equal elements of the same tensor. */
  readonly key: string;
  readonly bytes: number;
  /** Whether the first rank that holds the item writes it. Default: any of them. */
  readonly isOfFirst?: boolean | undefined;
}

/**
 * Decides which rank writes which item. Each item is written once. Of the ranks that hold it, the
 * one with the fewest bytes so far writes it, unless it is to be the first one.
 *
 * @param offers The items of each rank, by rank.
 * @returns The keys that each rank writes, by rank.
 */
export function assignItems(offers: readonly (readonly Offer[])[]): ReadonlySet<string>[] {
  const holders = new Map<string, { bytes: number; ranks: number[]; isOfFirst: boolean | undefined }>();
  offers.forEach((list, rank) => {
    for (const { key, bytes, isOfFirst } of list) {
      const known = holders.get(key);
      if (known) known.ranks.push(rank);
      else holders.set(key, { bytes, ranks: [rank], isOfFirst });
    }
  });
  const assigned = offers.map(() => new Set<string>());
  const loads = offers.map(() => 0);
  // The largest items are assigned first. The small ones then balance the load.
  const items = [...holders].sort(([a, x], [b, y]) => y.bytes - x.bytes || (a < b ? -1 : 1));
  for (const [key, { bytes, ranks, isOfFirst }] of items) {
    const writer = ranks.reduce((best, rank) => (!isOfFirst && loads[rank]! < loads[best]! ? rank : best));
    assigned[writer]!.add(key);
    loads[writer]! += bytes;
  }
  return assigned;
}
