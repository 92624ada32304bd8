/** A number that hides a key from a query, added to a score: exp of the difference is 0. */
const HIDDEN = -1e8;

/** The meaning of the elements of a mask for a query and a key. */
export interface Marks {
  readonly isSeen: (element: number) => boolean;
  readonly isHidden: (element: number) => boolean;
}

/** Of a mask that is added to scores, or that takes the place of scores. */
export const ADDED: Marks = { isSeen: (element) => element === 0, isHidden: (element) => element <= HIDDEN };
/** Of a mask that is subtracted. */
export const SUBTRACTED: Marks = {
  isSeen: ADDED.isSeen,
  isHidden: (element) => ADDED.isHidden(-element),
};
/** Of a condition, which may also be a factor. */
export const SEEN: Marks = { isSeen: (element) => element === 1, isHidden: (element) => element === 0 };
export const UNSEEN: Marks = { isSeen: SEEN.isHidden, isHidden: SEEN.isSeen };

/**
 * Whether a mask hides from query i exactly the keys after key i.
 *
 * @param shape Of the mask, `[…, queries, keys]`. One that is broadcast over queries or keys is not causal.
 * @param scores The shape of the scores.
 */
export function isCausalMask(
  mask: Float32Array,
  shape: readonly number[],
  scores: readonly number[],
  { isSeen, isHidden }: Marks = ADDED,
): boolean {
  const [queries, keys] = shape.slice(-2);
  const [rows, columns] = scores.slice(-2);
  if (queries === undefined || keys === undefined || queries !== keys) return false;
  if (queries !== rows || keys !== columns) return false;
  return mask.every((element, at) => {
    const isLater = at % keys > Math.floor(at / keys) % queries;
    return isLater ? isHidden(element) : isSeen(element);
  });
}
