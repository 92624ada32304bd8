/**
 * ((x0 + x1) + (x2 + x3)) + …: a binary tree over neighbours, whose subtrees are the same sums wherever they are computed.
 *
 * @param terms A power of two of them. They stay the caller's; the sum is the caller's too, and `terms[0]` itself where there is
 * one term.
 * @param release Takes what `add` gave and nobody needs any more.
 */
export function sumInPairs<T>(terms: readonly T[], add: (a: T, b: T) => T, release: (sum: T) => void): T {
  let level = terms;
  while (level.length > 1) {
    const below = level;
    level = Array.from({ length: below.length / 2 }, (_, i) => add(below[2 * i]!, below[2 * i + 1]!));
    if (below !== terms) for (const sum of below) release(sum);
  }
  return level[0]!;
}
