/** Maps items in their order, at most `count` of them at a time. The first error ends it. */
export async function mapConcurrently<T, R>(
  items: readonly T[],
  count: number,
  map: (item: T) => Promise<R>,
): Promise<R[]> {
  const results = new Array<R>(items.length);
  let next = 0;
  const work = async () => {
    while (next < items.length) {
      const i = next++;
      results[i] = await map(items[i]!);
    }
  };
  await Promise.all(Array.from({ length: Math.min(count, items.length) }, work));
  return results;
}
