import { Tensor, Variable } from '@tensorflow/tfjs-core';
import { describe, expect, it } from 'vitest';

/**
 * The expected kind of each member of a view, see {@link kindOf}. TypeScript rejects a table that
 * lacks a member.
 */
export type Members<View> = Readonly<Record<keyof View, string>>;

type Places = Readonly<Record<string, Readonly<Record<string, string>>>>;

/** The kind of a value. `function(2)` takes two parameters. */
function kindOf(value: unknown): string {
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'array';
  if (typeof value === 'function') return `function(${value.length})`;
  if (value instanceof Variable) return 'Variable';
  if (value instanceof Tensor) return 'Tensor';
  if (value instanceof WeakMap) return 'WeakMap';
  return typeof value;
}

/** Records the kinds of the members of `object`, which belongs to `place`. */
export type Look<Expected> = (place: keyof Expected & string, object: unknown) => void;

/**
 * Defines a test for each member of each place, named after both.
 *
 * @param lookAt Calls `look` for every place, before the tests.
 */
export function describeViews<Expected extends Places>(
  expected: Expected,
  lookAt: (look: Look<Expected>) => Promise<void>,
): void {
  const found = new Map<string, Readonly<Record<string, string>>>();
  const members = Object.entries(expected).flatMap(([place, table]) =>
    Object.entries(table).map(([member, kind]) => [`${place}.${member}`, place, member, kind] as const),
  );

  describe('the installed tfjs has what the views say', () => {
    it('in every place', async () => {
      await lookAt((place, object) => {
        const kinds = Object.keys(expected[place]!).map((name): [string, string] => [
          name,
          kindOf((object as Readonly<Record<string, unknown>>)[name]),
        ]);
        found.set(place, Object.fromEntries(kinds));
      });
      expect([...found.keys()].sort()).toEqual(Object.keys(expected).sort());
    });

    it.each(members)('%s', (_, place, member, kind) => {
      expect(found.get(place)?.[member]).toBe(kind);
    });
  });
}
