/** JSON may be nested so deep. Python's own limit is about the same. */
export const MAX_JSON_DEPTH = 1000;

/**
 * Parses JSON. V8 does so at any depth, but what visits the value is recursive.
 *
 * @throws SyntaxError, or RangeError if it is nested deeper than {@link MAX_JSON_DEPTH}.
 */
export function parseJson(text: string): unknown {
  const value: unknown = JSON.parse(text);
  // Each level takes two characters.
  if (text.length > 2 * MAX_JSON_DEPTH && !isFlatterThan(value, MAX_JSON_DEPTH)) {
    throw new RangeError(`it is nested more than ${MAX_JSON_DEPTH} deep`);
  }
  return value;
}

function isFlatterThan(value: unknown, levels: number): boolean {
  if (typeof value !== 'object' || value === null) return true;
  if (levels === 0) return false;
  const items = Array.isArray(value) ? value : Object.values(value);
  return items.every((item) => isFlatterThan(item, levels - 1));
}
