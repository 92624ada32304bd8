/** Checks that also run in a page of a browser. */
function fail(actual: unknown, expected: unknown): never {
  throw new Error(`${show(actual)} in place of ${show(expected)}`);
}

function show(value: unknown): string {
  return value instanceof Error ? String(value) : (JSON.stringify(value) ?? String(value));
}

export function equal(actual: unknown, expected: unknown): void {
  if (!Object.is(actual, expected)) fail(actual, expected);
}

/** Compares plain values, whatever the order of their keys. */
export function deepEqual(actual: unknown, expected: unknown): void {
  if (sorted(actual) !== sorted(expected)) fail(actual, expected);
}

function sorted(value: unknown): string {
  return JSON.stringify(value, (_key, inner: unknown) =>
    typeof inner === 'object' && inner !== null && !Array.isArray(inner)
      ? Object.fromEntries(Object.entries(inner).sort(([a], [b]) => (a < b ? -1 : 1)))
      : inner,
  );
}

/** @param expected What the message contains, or a check of the error. */
export async function rejects(
  work: Promise<unknown>,
  expected: RegExp | ((error: unknown) => boolean | Promise<never>),
): Promise<void> {
  const error = await work.then(
    (value) => fail(value, 'an error'),
    (found: unknown) => found,
  );
  if (expected instanceof RegExp) {
    if (!expected.test((error as Error).message)) fail(error, String(expected));
  } else if (!(await expected(error))) fail(error, 'another error');
}
