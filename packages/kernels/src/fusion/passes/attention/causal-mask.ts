/** A number that hides a key from a query, added to a score: exp of the difference is 0. */
const HIDDEN = -1e8;

/** Whether a mask hides from query i exactly the keys after key i. */
export function isCausalMask(mask: Float32Array, queries: number, keys: number): boolean {
  if (queries !== keys || mask.length !== queries * keys) return false;
  for (let i = 0; i < queries; i++) {
    for (let j = 0; j < keys; j++) {
      const number = mask[i * keys + j]!;
      if (j > i ? !(number <= HIDDEN) : number !== 0) return false;
    }
  }
  return true;
}
