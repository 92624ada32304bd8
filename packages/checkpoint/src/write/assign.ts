/** A piece that a rank could write. */
export interface Offer {
  /** The same for the same elements of the same tensor. */
  readonly key: string;
  readonly bytes: number;
}

/**
 * Which rank writes what: each piece is written once, by the one of those that hold it that has least to write so far.
 *
 * @param offers By rank.
 * @returns By rank the keys that it writes.
 */
export function assignPieces(offers: readonly (readonly Offer[])[]): ReadonlySet<string>[] {
  const holders = new Map<string, { bytes: number; ranks: number[] }>();
  offers.forEach((list, rank) => {
    for (const { key, bytes } of list) {
      const known = holders.get(key);
      if (known) known.ranks.push(rank);
      else holders.set(key, { bytes, ranks: [rank] });
    }
  });
  const assigned = offers.map(() => new Set<string>());
  const loads = offers.map(() => 0);
  // The largest first: what is small evens out what they leave.
  const pieces = [...holders].sort(([a, x], [b, y]) => y.bytes - x.bytes || (a < b ? -1 : 1));
  for (const [key, { bytes, ranks }] of pieces) {
    const writer = ranks.reduce((best, rank) => (loads[rank]! < loads[best]! ? rank : best));
    assigned[writer]!.add(key);
    loads[writer]! += bytes;
  }
  return assigned;
}
