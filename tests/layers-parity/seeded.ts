import { seededRandom } from '@acc/testkit';

/**
 * Runs `f` with a `Math.random` that returns the same numbers each time. tfjs seeds its unseeded
 * generators with it.
 */
export async function withSeededRandom<T>(f: () => Promise<T>): Promise<T> {
  const random = Math.random;
  Math.random = seededRandom(1);
  try {
    return await f();
  } finally {
    Math.random = random;
  }
}
