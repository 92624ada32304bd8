import { AccError, checkKeys } from '@acc/contract';

/** A requirement on the value of an option. */
export interface OptionKind {
  readonly expected: string;
  accepts(value: unknown): boolean;
}

function number(expected: string, accepts: (value: number) => boolean): OptionKind {
  return {
    expected,
    accepts: (value) => typeof value === 'number' && Number.isFinite(value) && accepts(value),
  };
}

export const NON_NEGATIVE = number('a number from 0', (value) => value >= 0);
export const POSITIVE = number('a number above 0', (value) => value > 0);
export const FRACTION = number('a number from 0 and below 1', (value) => value >= 0 && value < 1);
export const COUNT = number('a whole number from 1', (value) => Number.isInteger(value) && value > 0);
export const BOOLEAN: OptionKind = {
  expected: 'true or false',
  accepts: (value) => typeof value === 'boolean',
};

/**
 * Merges the given options with the defaults. An undefined value counts as absent.
 *
 * @param where The function that received the options, for messages.
 * @throws AccError `ACC_UNKNOWN_OPTION`, `ACC_INVALID_OPTION`.
 */
export function resolveOptions<T extends object>(
  where: string,
  given: object,
  defaults: T,
  kinds: Readonly<Record<keyof T, OptionKind>>,
): T {
  checkKeys(where, given, Object.keys(kinds));
  const resolved = { ...defaults } as Record<string, unknown>;
  for (const [key, value] of Object.entries(given)) {
    if (value === undefined) continue;
    const { expected, accepts } = kinds[key as keyof T];
    if (!accepts(value)) {
      throw new AccError(
        'ACC_INVALID_OPTION',
        `${where}: ${key} is ${describe(value)}; expected ${expected}.`,
        {
          help: 'Leave it out for its default.',
          details: { where, key, value },
        },
      );
    }
    resolved[key] = value;
  }
  return resolved as T;
}

function describe(value: unknown): string {
  return typeof value === 'object' || typeof value === 'function' ? typeof value : JSON.stringify(value);
}
