/**
 * Chooses clients for a round. The same clients, seed and round give the same choice, in whatever
 * order the clients joined.
 *
 * @param names The clients that are present.
 * @param count The number to choose, at most all.
 * @returns The chosen names, sorted.
 */
export function sampleClients(
  names: readonly string[],
  count: number,
  { seed, round }: { readonly seed: number; readonly round: number },
): string[] {
  const pool = [...names].sort();
  const next = randomFrom(seed, round);
  const chosen = Math.min(count, pool.length);
  // The first steps of a Fisher–Yates shuffle.
  for (let i = 0; i < chosen; i++) {
    const other = i + Math.floor(next() * (pool.length - i));
    [pool[i], pool[other]] = [pool[other]!, pool[i]!];
  }
  return pool.slice(0, chosen).sort();
}

/** Numbers from 0 to below 1: splitmix32 over the seed and the round. */
function randomFrom(seed: number, round: number): () => number {
  let state = mix(mix(seed >>> 0) + round);
  return () => {
    state = (state + 0x9e3779b9) >>> 0;
    return mix(state) / 2 ** 32;
  };
}

function mix(value: number): number {
  let x = value >>> 0;
  x = Math.imul(x ^ (x >>> 16), 0x21f0aaad);
  x = Math.imul(x ^ (x >>> 15), 0x735a2d97);
  return (x ^ (x >>> 15)) >>> 0;
}
