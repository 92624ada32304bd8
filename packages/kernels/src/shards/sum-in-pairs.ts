/**
 * ((x0 + x1) + (x2 + x3)) + …: a binary tree over neighbours. Each subtree is the same sum wherever
 * it is computed.
 *
 * @param terms Their number is a power of two. The caller keeps ownership of the terms and owns the
 * sum. With one term, the sum is `terms[0]` itself.
 * @param release Disposes intermediate results of `add`.
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
