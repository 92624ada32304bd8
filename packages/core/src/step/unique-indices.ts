/** The positions of the items that pass. Each object occurs once. */
export function uniqueIndices<T extends object>(items: readonly T[], passes: (item: T) => boolean): number[] {
  const seen = new Set<T>();
  const indices: number[] = [];
  items.forEach((item, i) => {
    if (seen.has(item) || !passes(item)) return;
    seen.add(item);
    indices.push(i);
  });
  return indices;
}
